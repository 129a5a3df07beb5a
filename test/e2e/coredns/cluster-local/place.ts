import type { NamePlace } from "../place.ts";
import { reverseNameOf } from "../questions.ts";
import type { SliceEndpoint } from "../worlds/services.ts";
import { ownedNames } from "./aliases.ts";
import { namespaces, services, strayAddresses } from "./fixture.ts";
import { localZone } from "./questions.ts";
import type { OwnService, OwnSlice } from "./services.ts";

/** Which names of pods are served, on both sides. */
export type PodMode = "disabled" | "insecure" | "verified";

/** An address of the fixture: a cluster IP, or an endpoint's. */
export interface OwnAddressUse {
  service: OwnService;
  /** Undefined for a cluster IP. */
  from: { slice: OwnSlice; endpoint: SliceEndpoint; address: string } | undefined;
}

/** Where a name stands in the tree of names. */
export interface LocalPlace extends NamePlace {
  kind: "outside" | "reverse" | "zone" | "namespace" | "service" | "below service" | "pod" | "below pod";
  /** The Service in a namespace that exists that has this name, or whose name this is below. */
  service: OwnService | undefined;
  /** The Service that has an alias at this name, be it its own or one that it owns instead. */
  aliasOf: OwnService | undefined;
  /** What the fixture has at the address of a reverse name. */
  uses: readonly OwnAddressUse[];
  /** Whether the address of a reverse name is in a slice that belongs to no Service. */
  isStray: boolean;
  pods: PodMode;
}

const existing = new Set(namespaces);
const byName = new Map(
  services
    .filter(({ namespace }) => existing.has(namespace))
    .map((one) => [`${one.name}.${one.namespace}`, one]),
);
const aliasesByName = new Map(
  services
    .filter(({ kind, namespace }) => kind === "external name" && existing.has(namespace))
    .map((one) => [`${ownedNames.get(one.name) ?? one.name}.${one.namespace}.svc`, one]),
);
const usesByName = groupUses();
const strayNames = new Set(Object.values(strayAddresses).map(reverseNameOf));

/** Finds names in the fixture. */
export function localPlaces(pods: PodMode): (name: string) => LocalPlace {
  return (name) => {
    const folded = name.toLowerCase();
    const nothing = { service: undefined, aliasOf: undefined, left: [], uses: [], isStray: false, pods };
    if (folded !== localZone && !folded.endsWith(`.${localZone}`)) {
      const isReverse = /(^|\.)(in-addr|ip6)\.arpa$/.test(folded);
      const kind = isReverse ? "reverse" : folded.endsWith(".clusterset.local") ? "zone" : "outside";
      const uses = usesByName.get(folded) ?? [];
      return { ...nothing, kind, labels: folded.split("."), uses, isStray: strayNames.has(folded) };
    }
    const labels = folded === localZone ? [] : folded.slice(0, -localZone.length - 1).split(".");
    const [namespace, tree] = labels.slice(-2);
    if ((tree !== "svc" && tree !== "pod") || namespace === undefined || !existing.has(namespace))
      return { ...nothing, kind: "zone", labels };
    const left = labels.slice(0, -3);
    if (tree === "pod") {
      const kind = labels.length === 2 ? "zone" : labels.length === 3 ? "pod" : "below pod";
      return { ...nothing, kind, labels, left };
    }
    if (labels.length === 2) return { ...nothing, kind: "namespace", labels };
    const service = byName.get(`${labels.at(-3)}.${namespace}`);
    const aliasOf = aliasesByName.get(labels.join("."));
    return {
      ...nothing,
      kind: left.length === 0 ? "service" : "below service",
      labels,
      service,
      aliasOf,
      left,
    };
  };
}

function groupUses(): Map<string, OwnAddressUse[]> {
  const uses = new Map<string, OwnAddressUse[]>();
  const add = (address: string, use: OwnAddressUse) => {
    const name = reverseNameOf(address);
    if (name !== undefined) uses.set(name, [...(uses.get(name) ?? []), use]);
  };
  for (const service of services) {
    for (const address of service.clusterIPs) add(address, { service, from: undefined });
    for (const slice of service.slices)
      for (const endpoint of slice.endpoints)
        for (const address of endpoint.addresses)
          add(address, { service, from: { slice, endpoint, address } });
  }
  return uses;
}

/** The Service that has an alias at a name, given in lower case with its zone. */
export function aliasAt(name: string): OwnService | undefined {
  return name.endsWith(`.${localZone}`) ? aliasesByName.get(name.slice(0, -localZone.length - 1)) : undefined;
}

/** Whether labels below the zone are above a dotted name that a Service owns. */
export function isAboveOwnedName(name: string): boolean {
  return [...aliasesByName].some(
    ([own, service]) => ownedNames.has(service.name) && own.endsWith(`.${name}`),
  );
}

/** Whether a Service is in a namespace that exists. */
export function isThere({ namespace }: OwnService): boolean {
  return existing.has(namespace);
}
