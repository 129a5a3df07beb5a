import { equalJson, isJsonObject, ownMember } from "./json-value.ts";
import { COLLECTIONS, type Collection, type Entries, SINGLES } from "./parse.ts";
import { applyPatch, type SnapshotPatch } from "./patch.ts";
import type { ClusterSnapshot } from "./schema.ts";

/** An entry of a table as it becomes; `entry` is undefined where it is removed. */
export type EntryChange = {
  [Name in Collection]: {
    readonly collection: Name;
    readonly key: string;
    readonly entry: ClusterSnapshot[Name][string] | undefined;
  };
}[Collection];

/** A valid change of one snapshot: no entry twice, and none that stays as it is. */
export interface SnapshotDelta {
  readonly entries: readonly EntryChange[];
  /** The members that are one value and change; undefined for one that is removed. */
  readonly singles: {
    readonly topology?: ClusterSnapshot["topology"] | undefined;
    readonly clusterZone?: ClusterSnapshot["clusterZone"] | undefined;
  };
}

/** Entries of one step. */
const ENTRIES_AT_ONCE = 64;

/**
 * What a patch changes. Costs what the patch names, whatever else is held.
 * @throws {SnapshotError} naming each invalid field of the patch or of a patched entry.
 */
export function changeOfPatch(held: ClusterSnapshot, patch: SnapshotPatch): SnapshotDelta {
  const base: ClusterSnapshot = { ...held };
  for (const collection of COLLECTIONS) {
    const named: Entries = {};
    const changes = ownMember(patch, collection);
    for (const key of isJsonObject(changes) ? Object.keys(changes) : []) {
      const entry = ownMember(held[collection], key);
      if (entry !== undefined) named[key] = entry;
    }
    Object.assign(base, { [collection]: named });
  }
  const steps = changesBetween(base, applyPatch(base, patch));
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** What turns one snapshot into another, in steps of some entries. Entries that both share by identity cost nothing. */
export function* changesBetween(from: ClusterSnapshot, to: ClusterSnapshot): Generator<void, SnapshotDelta> {
  const entries: EntryChange[] = [];
  let count = 0;
  for (const collection of COLLECTIONS) {
    const before: Entries = from[collection];
    const after: Entries = to[collection];
    if (before === after) continue;
    for (const key of Object.keys(before)) {
      if (!Object.hasOwn(after, key)) entries.push({ collection, key, entry: undefined });
      if (++count % ENTRIES_AT_ONCE === 0) yield;
    }
    for (const key of Object.keys(after)) {
      const entry = after[key];
      if (!equalJson(ownMember(before, key), entry)) entries.push({ collection, key, entry } as EntryChange);
      if (++count % ENTRIES_AT_ONCE === 0) yield;
    }
  }
  const changed = SINGLES.filter((name) => !equalJson(from[name], to[name]));
  return { entries, singles: Object.fromEntries(changed.map((name) => [name, to[name]])) };
}

/** Changes a snapshot in place, in steps of some entries. */
export function* applyInPlace(
  snapshot: ClusterSnapshot,
  { entries, singles }: SnapshotDelta,
): Generator<void> {
  for (const [index, { collection, key, entry }] of entries.entries()) {
    const table: Entries = snapshot[collection];
    if (entry === undefined) delete table[key];
    else table[key] = entry;
    if (index % ENTRIES_AT_ONCE === ENTRIES_AT_ONCE - 1) yield;
  }
  for (const name of SINGLES) {
    if (!Object.hasOwn(singles, name)) continue;
    if (singles[name] === undefined) delete snapshot[name];
    else Object.assign(snapshot, { [name]: singles[name] });
  }
}

/** A snapshot with tables of its own: the entries are the same objects. */
export function copyTables(snapshot: ClusterSnapshot): ClusterSnapshot {
  const copy = { ...snapshot };
  for (const collection of COLLECTIONS) Object.assign(copy, { [collection]: { ...snapshot[collection] } });
  return copy;
}
