import { usableAddress } from "../dns/address.ts";
import type { HostOptions } from "./options.ts";
import type { TreeKey } from "./tree-key.ts";
import { canonicalZoneName, type TreePlan } from "./zone-plan.ts";

/** A host in a tree. */
export interface PlacedHost {
  readonly tree: TreeKey;
  /** The labels of its relative name, the leftmost first. */
  readonly labels: readonly string[];
  /** How many of them are the name of a namespace; 0 without one. */
  readonly stemLabels: number;
  /** The addresses of its name, from all hosts with that name. */
  readonly addresses: Uint8Array[];
}

/** Hosts by the key of their names, `<namespace>/<label left of it>`; those whose names have no namespace are under the empty key. */
export function placeHosts(
  trees: readonly { readonly key: TreeKey; readonly plan: TreePlan; readonly zones: readonly string[] }[],
  hosts: readonly HostOptions[],
): Map<string, PlacedHost[]> {
  const placed = new Map<string, PlacedHost>();
  for (const { name, addresses } of hosts) {
    const bytes = addresses.map(addressOf);
    for (const { key: tree, plan, zones } of trees)
      for (const labels of labelsBelow(name, zones)) {
        const key = `${tree} ${labels.join(".")}`;
        const known = placed.get(key) ?? {
          tree,
          labels,
          stemLabels: stemLabelsOf(plan, labels),
          addresses: [],
        };
        placed.set(key, known);
        known.addresses.push(...bytes);
      }
  }
  const byKey = new Map<string, PlacedHost[]>();
  for (const host of placed.values()) {
    const { labels, stemLabels } = host;
    const key = stemLabels === 0 ? "" : `${labels.at(-stemLabels)}/${labels.at(-stemLabels - 1)}`;
    byKey.set(key, [...(byKey.get(key) ?? []), host]);
  }
  return byKey;
}

/** @throws {RangeError} for text that is not an IP address */
export function addressOf(address: string): Uint8Array {
  const bytes = usableAddress(address);
  if (bytes === undefined)
    throw new RangeError(`the address ${JSON.stringify(address)} is not an IP address`);
  return bytes;
}

/** How many labels of a name are the name of a namespace, if it has one and a label left of it; otherwise 0. */
function stemLabelsOf(plan: TreePlan, labels: readonly string[]): number {
  const first = labels.at(-1);
  if (plan.kind === "federation") {
    const isFederation = plan.zones.some(({ federation }) => federation.toLowerCase() === labels.at(-2));
    return first === "svc" && isFederation && labels.length > 3 ? 3 : 0;
  }
  const isServices = first === "svc" || (plan.kind === "cluster-local" && first === "pod");
  return isServices && labels.length > 2 ? 2 : 0;
}

/** For each zone that contains the name: the labels below that zone. */
function labelsBelow(name: string, zones: readonly string[]): string[][] {
  const host = canonicalZoneName(name);
  return zones
    .filter((zone) => host === zone || host.endsWith(`.${zone}`))
    .map((zone) => (host === zone ? [] : host.slice(0, -zone.length - 1).split(".")));
}
