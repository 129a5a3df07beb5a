import type { Collection, Entries } from "../parse.ts";
import { type ClusterSnapshot, SNAPSHOT_FORMAT_VERSION } from "../schema.ts";
import type { Single } from "./patch-line.ts";

/** The state of a cluster as far as lines are applied to it. */
export interface HeldState {
  /** A valid entry; undefined if there is none. */
  entry(collection: Collection, key: string): unknown;
  keys(collection: Collection): Iterable<string>;
  /** How many entries there are; undefined where nobody counts them. */
  count?(collection: Collection): number | undefined;
  single(name: Single): unknown;
}

/** No state. */
export const NOTHING_HELD: HeldState = { entry: () => undefined, keys: () => [], single: () => undefined };

/** A snapshot as held state. It is read while lines are applied. */
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

/** A snapshot without anything in it. */
export function emptySnapshot(clusterId: string): ClusterSnapshot {
  const tables = { namespaces: {}, exports: {}, imports: {}, services: {}, pods: {}, findings: {} };
  return { formatVersion: SNAPSHOT_FORMAT_VERSION, clusterId, ...tables };
}
