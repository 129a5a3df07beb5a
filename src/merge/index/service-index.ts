import type { HeldDelta } from "../../snapshot/entry-changes.ts";
import type { HeldState } from "../../snapshot/lines/held-state.ts";
import { compareText } from "../order.ts";
import type { AdjustedTime, Contribution } from "../service/declaration.ts";
import { namespaceOf } from "../service-key.ts";
import { ChangesAhead } from "./changes-ahead.ts";
import {
  type HeldEntry,
  holdOtherwise,
  isPart,
  isSamePart,
  PART_COLLECTIONS,
  type Part,
  type PartCollection,
  packedPart,
  partOf,
  STORED,
} from "./part.ts";
import { UnpackedParts } from "./unpacked-parts.ts";

/** What is remembered of when clusters reported services first, by `<namespace>/<name>`. */
export interface Remembered {
  /** The exports of a cluster whose reported creation time does not count. */
  adjusted(clusterId: string): ReadonlyMap<string, AdjustedTime> | undefined;
  /** When what a cluster imports was first seen, in Unix milliseconds. */
  importedSince(clusterId: string): ReadonlyMap<string, number> | undefined;
}

/** A cluster in the index. */
export interface IndexedCluster {
  readonly clusterId: string;
  /** Another number each time that it joins: what it had before is gone. */
  readonly joined: number;
  /** As it is held: it may be ahead of the index. */
  readonly state: HeldState;
  readonly namespaces: ReadonlySet<string>;
  /** How many exports and imports it has, those in namespaces that it does not have included. */
  readonly exports: number;
  readonly imports: number;
}

/** Receives what a change touches. */
export interface IndexWatcher {
  /** The part of a cluster in a service changed, or whether the part counts. */
  serviceChanged(key: string, clusterId: string): void;
  /** A cluster without a part in a service has the service's namespace now, or has it no more: it imports the service, or does not. */
  importersChanged(key: string, clusterId: string): void;
  /** A cluster joined or left, or its namespaces, its topology or its own zone changed. */
  clusterChanged(clusterId: string): void;
  /** A Service or a pod of a cluster's own zone changed. */
  localChanged(clusterId: string, collection: "services" | "pods", key: string): void;
  /** A finding of a cluster changed, or, without a key, any of them may have. */
  findingChanged(clusterId: string, key?: string): void;
}

type Cluster = { -readonly [Member in keyof IndexedCluster]: IndexedCluster[Member] } & {
  readonly namespaces: Set<string>;
  /** The services that it has a part in. */
  readonly services: Set<string>;
  /** Changes of its parts that a store may have and the index has not, see `retain`. */
  readonly ahead: ChangesAhead;
  /** The part that was made last: most of the next ones are equal, where entries are stored. */
  lastPart: Part | undefined;
};

/** Keys of one step. */
const KEYS_AT_ONCE = 64;
/** Characters of entries that are kept unpacked, in about 8 MB. */
const MOST_UNPACKED = 2 * 1024 * 1024;
const NO_PARTS: readonly Part[] = [];
const NO_CONTRIBUTIONS: readonly Contribution[] = [];
const LOCAL = ["services", "pods"] as const;

/**
 * What clusters contribute, by service: namespace sameness makes objects of one namespaced name one service (KEP-1645, Terminology). A change
 * touches the services of its keys, and a namespace that a cluster gains or loses those in that namespace, as changed importers. A change is made in steps: a read
 * between two of them may find a part of it.
 */
export class ServiceIndex {
  readonly #remembered: Remembered | undefined;
  readonly #clusters = new Map<string, Cluster>();
  readonly #parts = new Map<string, readonly Part[]>();
  readonly #unpacked: UnpackedParts;
  /** Services and clusters by namespace. */
  readonly #servicesIn = new Map<string, Set<string>>();
  readonly #clustersWith = new Map<string, Set<string>>();
  readonly #watchers: IndexWatcher[] = [];
  #joins = 0;

  /**
   * @param remembered default: what clusters report of creation times counts
   * @param mostUnpacked characters of packed entries that are kept unpacked, too
   */
  constructor(remembered?: Remembered, mostUnpacked: number = MOST_UNPACKED) {
    this.#remembered = remembered;
    this.#unpacked = new UnpackedParts(mostUnpacked);
  }

  watch(watcher: IndexWatcher): void {
    this.#watchers.push(watcher);
  }

  /** By id, in no order. */
  get clusters(): ReadonlyMap<string, IndexedCluster> {
    return this.#clusters;
  }

  /** `<namespace>/<name>` of each service that a cluster has a part in, be it in a namespace that the cluster does not have. */
  keys(): Iterable<string> {
    return this.#parts.keys();
  }

  /** What clusters contribute to a service, in order of cluster id, also to namespaces that they do not have. */
  contributions(key: string): readonly Contribution[] {
    const parts = this.#parts.get(key);
    return parts === undefined
      ? NO_CONTRIBUTIONS
      : this.#unpacked.of(key, () =>
          parts.flatMap((part) => packedPart(key, part, this.#stateOf(part)) ?? []),
        );
  }

  #stateOf({ clusterId }: Part): HeldState {
    return this.#clusters.get(clusterId)!.state;
  }

  /** The clusters that have a namespace: those that import its services (KEP-1645, Importing Services). In no order. */
  clustersWith(namespace: string): ReadonlySet<string> {
    return this.#clustersWith.get(namespace) ?? new Set();
  }

  /** Adds a cluster. The state may change meanwhile, and the index follows by `change`. */
  *join(clusterId: string, state: HeldState): Generator<void> {
    if (this.#clusters.has(clusterId)) yield* this.leave(clusterId);
    const cluster: Cluster = {
      ...{ clusterId, state, namespaces: new Set(), services: new Set(), ahead: new ChangesAhead() },
      ...{ exports: 0, imports: 0, lastPart: undefined, joined: ++this.#joins },
    };
    this.#clusters.set(clusterId, cluster);
    this.#tell((watcher) => watcher.clusterChanged(clusterId));
    for (const namespace of state.keys("namespaces")) yield* this.#setNamespace(cluster, namespace, true);
    let count = 0;
    for (const collection of PART_COLLECTIONS)
      for (const key of state.keys(collection)) {
        this.#setPart(
          cluster,
          key,
          partOf(collection, state.isStored ? STORED : state.packed(collection, key)),
        );
        if (++count % KEYS_AT_ONCE === 0) yield;
      }
    for (const collection of LOCAL)
      for (const key of state.keys(collection)) {
        this.#tell((watcher) => watcher.localChanged(clusterId, collection, key));
        if (++count % KEYS_AT_ONCE === 0) yield;
      }
    this.#tell((watcher) => watcher.findingChanged(clusterId));
  }

  /** Follows a change of a cluster; one that is not there has none. */
  *change(clusterId: string, { entries, singles }: HeldDelta): Generator<void> {
    const cluster = this.#clusters.get(clusterId);
    if (cluster === undefined) return;
    if (Object.keys(singles).length > 0) this.#tell((watcher) => watcher.clusterChanged(clusterId));
    let count = 0;
    for (const { collection, key, entry } of entries) {
      if (collection === "namespaces") yield* this.#setNamespace(cluster, key, entry !== undefined);
      else if (isPart(collection)) {
        const isNewest = cluster.ahead.remove(collection, key) && cluster.state.isStored;
        this.#setPart(cluster, key, partOf(collection, entry && isNewest ? STORED : entry));
      } else if (collection === "findings") this.#tell((watcher) => watcher.findingChanged(clusterId, key));
      else this.#tell((watcher) => watcher.localChanged(clusterId, collection, key));
      if (++count % KEYS_AT_ONCE === 0) yield;
    }
  }

  /**
   * Retains the parts that a change of a cluster whose entries are stored replaces, in steps: the store has the change before the index does, and what is
   * read meanwhile has the rank of what was there before. `change` ends it, or `release`.
   */
  *retain(clusterId: string, { entries }: HeldDelta): Generator<void> {
    const cluster = this.#clusters.get(clusterId);
    if (cluster?.state.isStored !== true) return;
    let count = 0;
    for (const { collection, key } of entries) {
      if (!isPart(collection)) continue;
      cluster.ahead.add(collection, key);
      this.#hold(cluster, collection, key, cluster.state.packed(collection, key));
      if (++count % KEYS_AT_ONCE === 0) yield;
    }
  }

  /** Retains no more what a change would have replaced that does not come. */
  release(clusterId: string, { entries }: HeldDelta): void {
    const cluster = this.#clusters.get(clusterId);
    if (cluster?.state.isStored !== true) return;
    for (const { collection, key } of entries)
      if (isPart(collection) && cluster.ahead.remove(collection, key))
        this.#hold(cluster, collection, key, STORED);
  }

  #hold(cluster: Cluster, collection: PartCollection, key: string, entry: HeldEntry): void {
    const parts = this.#parts.get(key);
    if (parts !== undefined)
      this.#parts.set(key, holdOtherwise(parts, cluster.clusterId, collection, entry !== STORED, entry));
  }

  /** Follows what is remembered of a cluster's part in services. */
  *reconsider(clusterId: string, keys: Iterable<string>): Generator<void> {
    const cluster = this.#clusters.get(clusterId);
    if (cluster === undefined) return;
    let count = 0;
    for (const key of keys) {
      if (cluster.services.has(key)) this.#setPart(cluster, key, {});
      if (++count % KEYS_AT_ONCE === 0) yield;
    }
  }

  /** Takes a cluster out. */
  *leave(clusterId: string): Generator<void> {
    const cluster = this.#clusters.get(clusterId);
    if (cluster === undefined) return;
    let count = 0;
    for (const key of cluster.services) {
      this.#setPart(cluster, key, { exported: undefined, imported: undefined });
      if (++count % KEYS_AT_ONCE === 0) yield;
    }
    for (const namespace of cluster.namespaces) yield* this.#setNamespace(cluster, namespace, false);
    this.#clusters.delete(clusterId);
    this.#tell((watcher) => watcher.clusterChanged(clusterId));
    this.#tell((watcher) => watcher.findingChanged(clusterId));
  }

  *#setNamespace(cluster: Cluster, namespace: string, isThere: boolean): Generator<void> {
    const { clusterId } = cluster;
    if (isThere) cluster.namespaces.add(namespace);
    else cluster.namespaces.delete(namespace);
    setMember(this.#clustersWith, namespace, clusterId, isThere);
    this.#tell((watcher) => watcher.clusterChanged(clusterId));
    let count = 0;
    for (const key of this.#servicesIn.get(namespace) ?? []) {
      // What is in a namespace that the cluster does not have has no rank.
      if (cluster.services.has(key)) this.#setPart(cluster, key, {});
      else this.#tell((watcher) => watcher.importersChanged(key, clusterId));
      if (++count % KEYS_AT_ONCE === 0) yield;
    }
  }

  /** Sets what a cluster exports or imports of a service; what `changed` does not name stays. */
  #setPart(cluster: Cluster, key: string, changed: Partial<Pick<Part, "exported" | "imported">>): void {
    const { clusterId } = cluster;
    const all = this.#parts.get(key) ?? NO_PARTS;
    this.#unpacked.drop(key);
    const before = all.find((one) => one.clusterId === clusterId);
    const { exported, imported } = { ...before, ...changed };
    cluster.exports += Number(exported !== undefined) - Number(before?.exported !== undefined);
    cluster.imports += Number(imported !== undefined) - Number(before?.imported !== undefined);
    const isThere = exported !== undefined || imported !== undefined;
    let after: readonly Part[] = all.filter((one) => one !== before);
    if (isThere) {
      const next = after.findIndex((one) => compareText(one.clusterId, clusterId) > 0);
      const part: Part = {
        ...{ clusterId, exported, imported },
        adjusted: exported === undefined ? undefined : this.#remembered?.adjusted(clusterId)?.get(key),
        importedSince:
          imported === undefined ? undefined : this.#remembered?.importedSince(clusterId)?.get(key),
      };
      const { lastPart } = cluster;
      cluster.lastPart = lastPart !== undefined && isSamePart(lastPart, part) ? lastPart : part;
      // An array that grew has room for 16 more.
      after = after.toSpliced(next < 0 ? after.length : next, 0, cluster.lastPart);
      cluster.services.add(key);
    } else cluster.services.delete(key);
    if (after.length > 0) this.#parts.set(key, after);
    else this.#parts.delete(key);
    setMember(this.#servicesIn, namespaceOf(key), key, after.length > 0);
    this.#tell((watcher) => watcher.serviceChanged(key, clusterId));
  }

  #tell(tell: (watcher: IndexWatcher) => void): void {
    for (const watcher of this.#watchers) tell(watcher);
  }
}

function setMember(sets: Map<string, Set<string>>, name: string, member: string, isThere: boolean): void {
  const members = sets.get(name);
  if (!isThere) {
    members?.delete(member);
    if (members?.size === 0) sets.delete(name);
  } else if (members === undefined) sets.set(name, new Set([member]));
  else members.add(member);
}
