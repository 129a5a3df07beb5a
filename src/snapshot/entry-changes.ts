import { type Packed, pack, packInSteps, unpack } from "./held/packed-entry.ts";
import { sharedText } from "./held/shared-text.ts";
import { equalJson } from "./json-value.ts";
import type { HeldState } from "./lines/held-state.ts";
import { COLLECTIONS, type Collection, type Entries, type EntryOf, SINGLES } from "./parse.ts";
import type { ClusterSnapshot } from "./schema.ts";

/** An entry of a table as it becomes; `entry` is undefined where it is removed. */
export type EntryChange = {
  [Name in Collection]: {
    readonly collection: Name;
    readonly key: string;
    readonly entry: EntryOf<Name> | undefined;
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

/** A change whose entries are as they are held. */
export interface HeldDelta extends Pick<SnapshotDelta, "singles"> {
  readonly entries: readonly HeldChange[];
}

/** An entry as it becomes in a `HeldDelta`. */
export type HeldChange = {
  [Name in Collection]: {
    readonly collection: Name;
    readonly key: string;
    readonly entry: Packed<EntryOf<Name>> | undefined;
  };
}[Collection];

/** Entries of one step: each may be parsed or packed within a tenth of a millisecond. */
const ENTRIES_AT_ONCE = 16;

/** What turns a state into a snapshot, in steps of some entries. */
export function* changesBetween(from: HeldState, to: ClusterSnapshot): Generator<void, SnapshotDelta> {
  const entries: EntryChange[] = [];
  let count = 0;
  for (const collection of COLLECTIONS) {
    const after: Entries = to[collection];
    for (const key of from.keys(collection)) {
      if (!Object.hasOwn(after, key)) entries.push({ collection, key, entry: undefined });
      if (++count % ENTRIES_AT_ONCE === 0) yield;
    }
    for (const key of Object.keys(after)) {
      const entry = after[key] as object;
      if (!isHeld(from, collection, key, entry)) entries.push({ collection, key, entry } as EntryChange);
      if (++count % ENTRIES_AT_ONCE === 0) yield;
    }
  }
  const changed = SINGLES.filter((name) => !equalJson(from.single(name), to[name]));
  return { entries, singles: Object.fromEntries(changed.map((name) => [name, to[name]])) };
}

/** Whether a state has an entry. Nearly always an equal one has the same text. */
function isHeld(held: HeldState, collection: Collection, key: string, entry: object): boolean {
  const packed = held.packed(collection, key);
  if (packed === undefined) return false;
  return (typeof packed === "string" && packed === pack(entry)) || equalJson(unpack(packed), entry);
}

/** A change as it is held, packed in steps of some entries. */
export function* packDelta({ entries, singles }: SnapshotDelta): Generator<void, HeldDelta> {
  const packed: HeldChange[] = [];
  for (const [index, { collection, key, entry }] of entries.entries()) {
    const held = entry && (yield* packInSteps(entry));
    packed.push({ collection, key: sharedText(key), entry: held } as HeldChange);
    if (index % ENTRIES_AT_ONCE === ENTRIES_AT_ONCE - 1) yield;
  }
  return { entries: packed, singles };
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

/** The snapshot after a change; tables that do not change are the same objects. */
export function changeTables(
  snapshot: ClusterSnapshot,
  { entries, singles }: SnapshotDelta,
): ClusterSnapshot {
  const changed = { ...snapshot };
  for (const { collection } of entries)
    if (changed[collection] === snapshot[collection])
      Object.assign(changed, { [collection]: { ...snapshot[collection] } });
  for (const _ of applyInPlace(changed, { entries, singles }));
  return changed;
}
