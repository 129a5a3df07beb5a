import type { Collection, Entries } from "../parse.ts";
import { type ClusterSnapshot, SNAPSHOT_FORMAT_VERSION } from "../schema.ts";
import type { Single } from "./patch-line.ts";

/** An entry after a change; undefined if it is gone. */
export type EntryChange = {
  [Name in Collection]: {
    readonly collection: Name;
    readonly key: string;
    readonly entry: ClusterSnapshot[Name][string] | undefined;
  };
}[Collection];

/** What changes in a cluster's state: validated values, each once. */
export interface SnapshotDelta {
  readonly entries: readonly EntryChange[];
  /** The single values that change; undefined for one that is gone. */
  readonly singles: { readonly [Name in Single]?: ClusterSnapshot[Name] | undefined };
}

/** The state of a cluster as far as lines are applied to it. */
export interface HeldState {
  /** A valid entry; undefined if there is none. */
  entry(collection: Collection, key: string): unknown;
  keys(collection: Collection): Iterable<string>;
  single(name: Single): unknown;
}

/** No state. */
export const NOTHING_HELD: HeldState = { entry: () => undefined, keys: () => [], single: () => undefined };

/** A snapshot as held state. */
export function heldSnapshot(snapshot: ClusterSnapshot | undefined): HeldState {
  if (snapshot === undefined) return NOTHING_HELD;
  return {
    entry: (collection, key) => {
      const entries: Entries = snapshot[collection];
      return Object.hasOwn(entries, key) ? entries[key] : undefined;
    },
    keys: (collection) => Object.keys(snapshot[collection]),
    single: (name) => snapshot[name],
  };
}

/** The snapshot after a delta. Entries that it does not change keep their identity, and so do tables without a change. */
export function applyDelta(base: ClusterSnapshot, delta: SnapshotDelta): ClusterSnapshot {
  const tables = new Map<Collection, Entries>();
  for (const { collection, key, entry } of delta.entries) {
    const table = tables.get(collection) ?? { ...base[collection] };
    if (entry === undefined) delete table[key];
    else table[key] = entry;
    tables.set(collection, table);
  }
  const names = Object.keys(delta.singles) as Single[];
  if (tables.size === 0 && names.length === 0) return base;
  const after = { ...base, ...Object.fromEntries(tables), ...delta.singles } as ClusterSnapshot;
  for (const name of names) if (after[name] === undefined) delete after[name];
  return after;
}

/** A snapshot without anything in it. */
export function emptySnapshot(clusterId: string): ClusterSnapshot {
  const tables = { namespaces: {}, exports: {}, imports: {}, services: {}, pods: {}, findings: {} };
  return { formatVersion: SNAPSHOT_FORMAT_VERSION, clusterId, ...tables };
}
