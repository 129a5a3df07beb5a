import { usableAddress } from "../dns/address.ts";
import { canonicalName } from "../dns/name.ts";
import { ABSENT_CLUSTER, type ClusterFinding } from "../merge/clusterset.ts";
import { Distances, type Origin } from "./kinds/tree-scope.ts";
import { isTreeOf, type Locality, localityView, type Zone } from "./world.ts";
import {
  type HostOptions,
  planZones,
  type TreePlan,
  type ZoneCluster,
  type ZoneOptions,
} from "./zone-plan.ts";

/**
 * A tree with what compiling names in it needs: its zones, the canonical one first, which owns PTR targets.
 */
export type PlannedTree = ReturnType<typeof planTrees>[number];

/**
 * What all segments of a generation are compiled with. It depends on settings and clusters, not on services.
 */
export type ZoneContext = ReturnType<typeof createContext>;

/**
 * @throws {NameError} if a zone name is malformed. @throws {RangeError} if two kinds claim one zone, or an
 * address is none.
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

/**
 * The trees' hosts, those of one name as one, by the key of their names, `<namespace>/<label left of it>`;
 * those whose names have no namespace are under the empty key.
 */
function placeHosts(trees: readonly PlannedTree[], hosts: readonly HostOptions[]) {
  const all = hosts.flatMap(({ name, addresses }) => {
    const bytes = addresses.map(addressOf);
    return trees.flatMap(({ key: tree, plan, zones }) =>
      labelsBelow(name, zones).map((labels) => ({
        tree,
        labels,
        key: keyOf(plan, labels),
        addresses: bytes,
      })),
    );
  });
  const same = Map.groupBy(all, ({ tree, labels }) => `${tree} ${labels.join(".")}`);
  const placed = Array.from(same.values(), (some) => ({
    ...some[0]!,
    addresses: some.flatMap(({ addresses }) => addresses),
  }));
  return Map.groupBy(placed, ({ key }) => key);
}

/** @throws {RangeError} for text that is not an IP address */
export function addressOf(address: string): Uint8Array {
  const bytes = usableAddress(address);
  if (bytes === undefined)
    throw new RangeError(`the address ${JSON.stringify(address)} is not an IP address`);
  return bytes;
}

/**
 * @param labels of a relative name, the leftmost first
 * @returns empty without a namespace and a label left of it
 */
function keyOf(plan: TreePlan, labels: readonly string[]): string {
  const first = labels.at(-1);
  const isFederation = plan.kind === "federation";
  const isStem = isFederation
    ? first === "svc" && plan.zones.some(({ federation }) => federation.toLowerCase() === labels.at(-2))
    : first === "svc" || (plan.kind === "cluster-local" && first === "pod");
  const stem = isFederation ? 3 : 2;
  return isStem && labels.length > stem ? `${labels.at(-stem)}/${labels.at(-stem - 1)}` : "";
}

/** For each zone that contains the name: the labels below that zone. */
function labelsBelow(name: string, zones: readonly Zone[]): string[][] {
  const host = canonicalName(name);
  return zones
    .map((zone) => zone.name)
    .filter((zone) => host === zone || host.endsWith(`.${zone}`))
    .map((zone) => (host === zone ? [] : host.slice(0, -zone.length - 1).split(".")));
}
