import { localTree, type TreeKey } from "../segment/tree-key.ts";
import type { SourceCluster } from "../zone-source.ts";
import type { NameKeys } from "./name-keys.ts";
import type { PlannedTree } from "./zone-context.ts";

/** A cluster's own zone as of when its keys were placed. */
interface KnownZone {
  /** Its settings, as text. */
  readonly settings: string;
  readonly namespaces: ReadonlySet<string>;
  readonly joined: number | undefined;
}

/** Follows the zones of single clusters: which are served, with which settings, and which namespaces their clusters have. */
export class LocalZones {
  #known = new Map<string, KnownZone>();

  /** What is known of all zones, as text. */
  get text(): string {
    return JSON.stringify(
      Array.from(this.#known, ([id, { settings, namespaces }]) => [id, settings, [...namespaces].sort()]),
    );
  }

  /** Takes clusters over whose keys are placed. */
  assume(clusters: ReadonlyMap<string, SourceCluster>, trees: ReadonlyMap<TreeKey, PlannedTree>): void {
    this.#known = new Map();
    for (const [clusterId, cluster] of clusters) {
      if (cluster.localZone === undefined) continue;
      const tree = trees.get(localTree(clusterId));
      this.#known.set(clusterId, {
        settings: JSON.stringify([cluster.localZone.zone, tree?.zones]),
        namespaces: new Set(cluster.namespaces.keys()),
        joined: cluster.joined,
      });
    }
  }

  /** Takes over clusters that may have changed. @returns the keys of names that may be other ones now, as `NameKeys.keysOf` */
  *follow(
    names: NameKeys<unknown>,
    clusters: ReadonlyMap<string, SourceCluster>,
    trees: ReadonlyMap<TreeKey, PlannedTree>,
  ): Generator<string | undefined> {
    const before = this.#known;
    this.assume(clusters, trees);
    const next = this.#known;
    for (const clusterId of before.keys()) if (!next.has(clusterId)) yield* names.dropCluster(clusterId);
    for (const [clusterId, zone] of next) {
      const known = before.get(clusterId);
      if (known?.settings !== zone.settings || known.joined !== zone.joined) {
        if (known !== undefined) yield* names.dropCluster(clusterId);
        yield* placeAll(names, clusters.get(clusterId)!);
      } else yield* keysOfChangedNamespaces(names, clusterId, known.namespaces, zone.namespaces);
    }
  }
}

function* placeAll(names: NameKeys<unknown>, cluster: SourceCluster): Generator<string> {
  const { services, pods } = cluster.localZone!;
  for (const key of services.keys()) yield* names.placeService(cluster, key);
  for (const key of pods.keys()) yield* names.placePod(cluster, key);
}

function* keysOfChangedNamespaces(
  names: NameKeys<unknown>,
  clusterId: string,
  before: ReadonlySet<string>,
  now: ReadonlySet<string>,
): Generator<string | undefined> {
  const changed = new Set(
    [...now, ...before].filter((namespace) => !(now.has(namespace) && before.has(namespace))),
  );
  if (changed.size === 0) return;
  for (const key of names.keysOf(clusterId))
    if (key === undefined || changed.has(key.slice(0, key.indexOf("/")))) yield key;
}
