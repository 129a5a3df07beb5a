import { usableAddress } from "../dns/address.ts";
import { canonicalName } from "../dns/name.ts";
import { ABSENT_CLUSTER, type ClusterFinding } from "../merge/clusterset.ts";
import { isTreeOf, type Locality, localityView, type Zone } from "./frame.ts";
import { Distances, type Origin } from "./kinds/tree-scope.ts";
import type { TreeKey } from "./name-tree.ts";
import {
  type HostOptions,
  planZones,
  type TreePlan,
  type ZoneCluster,
  type ZoneOptions,
} from "./zone-plan.ts";

/** A tree with what compiling names in it needs: its zones, the canonical one first, which owns PTR targets. */
export type PlannedTree = ReturnType<typeof planTrees>[number];

/** What all segments of a generation are compiled with. It depends on settings and clusters, not on services. */
export type ZoneContext = ReturnType<typeof createContext>;

/**
 * @throws {NameError} if a zone name is malformed. @throws {RangeError} if two kinds claim one zone, or an address is none.
 */
export function createContext(clusters: readonly ZoneCluster[], options: ZoneOptions) {
  const findings: ClusterFinding[] = [];
  const plan = planZones(clusters, options, findings);
  const trees = planTrees(plan);
  return {
    options,
    trees,
    findings: findings as readonly ClusterFinding[],
    zones: plan.zones,
    treeByKey: new Map(trees.map((tree) => [tree.key, tree])),
    /** The clusters that have a view: the live ones, and `ABSENT_CLUSTER` for all others. */
    clusterViews: new Set([...clusters.map(({ clusterId }) => clusterId), ABSENT_CLUSTER]),
    localities: distinctLocalities(options).map((place) => [localityView(place), originOf(place)] as const),
    distances: new Distances(clusters),
    /** Hosts by the key of their names, and those whose names have no namespace under the empty key. */
    hosts: placeHosts(trees, options.hosts),
  };
}

function planTrees({ trees, zones }: ReturnType<typeof planZones>) {
  return trees.map((plan, index) => {
    const own = zones.filter((zone) => isTreeOf(zone, index));
    const shortestZoneBytes = Math.min(...own.map(({ wire }) => wire.length));
    return { plan, key: plan.key, zones: own, canonicalZone: own[0]!, shortestZoneBytes };
  });
}

/** Only federation zones depend on a locality. */
function distinctLocalities({ federations, localities }: ZoneOptions): Locality[] {
  return federations.length === 0
    ? []
    : [...new Map(localities.map((place) => [localityView(place), place])).values()];
}

function originOf({ region, zone }: Locality): Origin {
  return { clusterId: undefined, region, zones: zone === undefined ? [] : [zone] };
}

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
function placeHosts(trees: readonly PlannedTree[], hosts: readonly HostOptions[]): Map<string, PlacedHost[]> {
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
function labelsBelow(name: string, zones: readonly Zone[]): string[][] {
  const host = canonicalName(name);
  return zones
    .map((zone) => zone.name)
    .filter((zone) => host === zone || host.endsWith(`.${zone}`))
    .map((zone) => (host === zone ? [] : host.slice(0, -zone.length - 1).split(".")));
}
