import type { ZoneName } from "../dns/name.ts";
import { ABSENT_CLUSTER } from "../merge/clusterset.ts";
import type { TreeKey } from "./name-tree.ts";

/** When lease groups expire, and for whom that was looked up. */
export interface LeaseMemo {
  readonly owner: object;
  readonly table: Float64Array;
}

/** What zones, trees and views there are. */
interface FrameTables {
  /** Tree 0 is the clusterset's. */
  readonly trees: readonly Tree[];
  readonly zones: readonly Zone[];
  /**
   * Cluster ids in the order of view indices; then localities of clients outside, named by `localityView`.
   */
  readonly views: readonly string[];
  /** Clusters whose lease expired: exports name them, and nothing depends on their leases. */
  readonly lapsed?: readonly string[];
  /** Negative TTL and SOA MINIMUM in seconds (RFC 2308). */
  readonly negativeTtl: number;
}

/** The lease group of a frame that has all clusters: no lease group of a name expires before it. */
export const ALL_CLUSTERS = 1;

/** A zone. */
export interface Zone extends ZoneName {
  readonly name: string;
  /** The tree for queries without a view and for views without a tree of their own, or -1. */
  readonly tree: number;
  /** Trees of single views, by view index. */
  readonly treeByView: ReadonlyMap<number, number>;
}

/** A tree of names, as look-ups need it. */
export interface Tree {
  readonly key: TreeKey;
  /** The zone that owns its PTR targets. */
  readonly canonicalZone: Zone;
}

/** Zones, trees and views. */
export class Frame {
  /** Zones with the most labels first, so that the first match is the closest. */
  readonly zones: readonly Zone[];
  readonly trees: readonly Tree[];
  readonly views: readonly string[];
  readonly negativeTtl: number;
  /** By `ALL_CLUSTERS`. */
  readonly leaseGroups: readonly (readonly string[])[];
  /** See `Leased`. */
  leaseMemo: LeaseMemo | undefined = undefined;
  readonly #viewIndex: ReadonlyMap<string, number>;
  readonly #absentView: number;

  constructor({ trees, zones, views: own, lapsed = [], negativeTtl }: FrameTables) {
    const views = [...own, ...lapsed];
    this.views = views;
    this.negativeTtl = negativeTtl;
    this.leaseGroups = [[], own.filter((view) => view !== ABSENT_CLUSTER && !isLocalityView(view))];
    this.#viewIndex = new Map(views.map((view, index) => [view, index]));
    this.#absentView = this.#viewIndex.get(ABSENT_CLUSTER) ?? -1;
    this.trees = trees;
    this.zones = zones.toSorted((one, other) => other.labels - one.labels);
  }

  /**
   * The index of the view of a source cluster or a locality. A cluster that is not known has the view of
   * clusters that are not live, if there is one; otherwise -1.
   */
  viewOf(clusterId: string | undefined): number {
    if (clusterId === undefined) return -1;
    return this.#viewIndex.get(clusterId) ?? (isLocalityView(clusterId) ? -1 : this.#absentView);
  }

  /**
   * The name of a view, by its index. Undefined for index -1, which an array would look up as the property
   * "-1": that costs a tenth of an answer.
   */
  viewName(view: number): string | undefined {
    return view < 0 ? undefined : this.views[view];
  }

  /** The tree that a zone is for a view index, or -1 if the zone does not exist for it. */
  treeFor(zone: Zone, view: number): number {
    if (view < 0 || zone.treeByView.size === 0) return zone.tree;
    return zone.treeByView.get(view) ?? zone.tree;
  }
}

/** Whether a zone has a tree, for any view. */
export function isTreeOf({ tree, treeByView }: Zone, wanted: number): boolean {
  return tree === wanted || [...treeByView.values()].includes(wanted);
}

/**
 * The region and zone of a client outside every cluster, with the values of nodes' labels
 * (`topology.kubernetes.io/region` and `/zone`).
 */
export interface Locality {
  readonly region: string;
  readonly zone?: string | undefined;
}

/** The name of a view for a locality. A cluster id never contains a colon. */
export function localityView({ region, zone }: Locality): string {
  return zone === undefined ? `region:${region}` : `zone:${region}/${zone}`;
}

/** Whether a view is that of a locality. */
export function isLocalityView(view: string): boolean {
  return view.includes(":");
}
