import { parseName } from "../dns/name.ts";
import { ABSENT_CLUSTER, type ClusterFinding } from "../merge/clusterset.ts";
import { type PlacedHost, placeHosts } from "./hosts.ts";
import { Distances, type Origin } from "./kinds/distances.ts";
import { type Locality, localityView } from "./locality.ts";
import type { ZoneOptions } from "./options.ts";
import type { TreeKey } from "./tree-key.ts";
import { planZones, type TreePlan, type ZoneCluster, type ZonePlan } from "./zone-plan.ts";

/** A tree with what compiling names in it needs. */
export interface PlannedTree {
  readonly plan: TreePlan;
  readonly key: TreeKey;
  /** The names of its zones in text, the canonical one first. */
  readonly zones: readonly string[];
  readonly shortestZoneBytes: number;
  readonly canonicalZoneBytes: number;
}

/** What all segments of a generation are compiled with. It depends on settings and clusters, not on services. */
export interface ZoneContext {
  readonly options: ZoneOptions;
  readonly plan: ZonePlan;
  readonly trees: readonly PlannedTree[];
  readonly treeByKey: ReadonlyMap<TreeKey, PlannedTree>;
  /** The clusters that have a view: the live ones, and `ABSENT_CLUSTER` for all others. */
  readonly clusterViews: ReadonlySet<string>;
  readonly localities: readonly (readonly [view: string, origin: Origin])[];
  readonly distances: Distances;
  /** Hosts by the key of their names, and those whose names have no namespace under the empty key. */
  readonly hosts: ReadonlyMap<string, readonly PlacedHost[]>;
  readonly findings: readonly ClusterFinding[];
}

/**
 * @throws {NameError} if a zone name is malformed. @throws {RangeError} if two kinds claim one zone, or an address is none.
 */
export function createContext(clusters: readonly ZoneCluster[], options: ZoneOptions): ZoneContext {
  const findings: ClusterFinding[] = [];
  const plan = planZones(clusters, options, findings);
  const trees = plan.trees.map((tree, index) => {
    const zones = zonesOf(plan, index);
    const bytes = zones.map((name) => parseName(name).length);
    return {
      plan: tree,
      key: tree.key,
      zones,
      shortestZoneBytes: Math.min(...bytes),
      canonicalZoneBytes: bytes[0]!,
    };
  });
  return {
    options,
    plan,
    trees,
    findings,
    treeByKey: new Map(trees.map((tree) => [tree.key, tree])),
    clusterViews: new Set([...clusters.map(({ clusterId }) => clusterId), ABSENT_CLUSTER]),
    localities: distinctLocalities(options).map((locality) => [localityView(locality), originOf(locality)]),
    distances: new Distances(clusters),
    hosts: placeHosts(trees, options.hosts),
  };
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

function zonesOf({ zones }: ZonePlan, tree: number): string[] {
  return zones
    .filter((zone) => zone.tree === tree || zone.byView.some(([, own]) => own === tree))
    .map(({ name }) => name);
}
