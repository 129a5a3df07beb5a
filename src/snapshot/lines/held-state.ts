import type { Packed } from "../held/packed-entry.ts";
import { COLLECTIONS, type Collection, type Entries, type EntryOf } from "../parse.ts";
import { type ClusterSnapshot, SNAPSHOT_FORMAT_VERSION } from "../schema.ts";
import type { Single } from "./patch-line.ts";

/** The state of a cluster, read entry by entry. What is read is valid, and must not be changed. */
export interface HeldState {
  /** An entry, which may be another object each time; undefined if there is none. */
  entry<Name extends Collection>(collection: Name, key: string): EntryOf<Name> | undefined;
  /** The same as it is kept. */
  packed<Name extends Collection>(collection: Name, key: string): Packed<EntryOf<Name>> | undefined;
  has(collection: Collection, key: string): boolean;
  keys(collection: Collection): Iterable<string>;
  /** How many entries there are; undefined where nobody counts them. */
  count?(collection: Collection): number | undefined;
  single<Name extends Single>(name: Name): ClusterSnapshot[Name];
  /** Whether entries are read from a store each time, so that memory need not hold them. Default: they are in memory. */
  readonly isStored?: boolean;
}

/** No state. */
export const NOTHING_HELD: HeldState = {
  entry: () => undefined,
  packed: () => undefined,
  has: () => false,
  keys: () => [],
  single: () => undefined,
};

/** A snapshot as held state: the entries are its own objects. */
export function heldSnapshot(snapshot: ClusterSnapshot): HeldState {
  const entry = <Name extends Collection>(collection: Name, key: string): EntryOf<Name> | undefined => {
    const entries: Entries = snapshot[collection];
    return Object.hasOwn(entries, key) ? (entries[key] as EntryOf<Name>) : undefined;
  };
  return {
    ...{ entry, packed: entry },
    has: (collection, key) => Object.hasOwn(snapshot[collection], key),
    keys: (collection) => Object.keys(snapshot[collection]),
    single: (name) => snapshot[name],
  };
}

/** A snapshot without anything in it. */
export function emptySnapshot(clusterId: string): ClusterSnapshot {
  const tables = { namespaces: {}, exports: {}, imports: {}, services: {}, pods: {}, findings: {} };
  return { formatVersion: SNAPSHOT_FORMAT_VERSION, clusterId, ...tables };
}

/** All of a state as a snapshot. */
export function snapshotOf(clusterId: string, held: HeldState): ClusterSnapshot {
  const snapshot = emptySnapshot(clusterId);
  const [topology, clusterZone] = [held.single("topology"), held.single("clusterZone")];
  const singles = { ...(topology && { topology }), ...(clusterZone && { clusterZone }) };
  const tables = COLLECTIONS.map((collection) => [collection, tableOf(held, collection)]);
  return { ...snapshot, ...singles, ...Object.fromEntries(tables) };
}

/** All entries of a collection, by key. */
export function tableOf<Name extends Collection>(held: HeldState, collection: Name): ClusterSnapshot[Name] {
  const entries = Array.from(held.keys(collection), (key) => [key, held.entry(collection, key)]);
  return Object.fromEntries(entries) as ClusterSnapshot[Name];
}
