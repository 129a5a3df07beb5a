import type { SnapshotDelta } from "./entry-changes.ts";
import type { HeldState } from "./lines/held-state.ts";
import { COLLECTIONS, type Collection } from "./parse.ts";

/** How many entries of a snapshot's table are new, other than before, and gone. */
export interface TableChanges {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** The tables of a snapshot with changes, alone. */
export type SnapshotChanges = { readonly [Name in Collection]?: TableChanges };

/** Entries of one step. */
const ENTRIES_AT_ONCE = 256;

/** Counts the changes that a delta makes in a state, in steps. */
export function* countDelta(held: HeldState, { entries }: SnapshotDelta): Generator<void, SnapshotChanges> {
  const counted: { [Name in Collection]?: { added: number; changed: number; removed: number } } = {};
  for (const [index, { collection, key, entry }] of entries.entries()) {
    if (index % ENTRIES_AT_ONCE === ENTRIES_AT_ONCE - 1) yield;
    counted[collection] ??= { added: 0, changed: 0, removed: 0 };
    if (entry === undefined) counted[collection].removed++;
    else if (!held.has(collection, key)) counted[collection].added++;
    else counted[collection].changed++;
  }
  return counted;
}

/** The changes that remove all of a state. @param counts entries of each table */
export function countRemoval(counts: Readonly<Record<Collection, number>>): SnapshotChanges {
  const tables = COLLECTIONS.filter((table) => counts[table] > 0);
  return Object.fromEntries(tables.map((table) => [table, { added: 0, changed: 0, removed: counts[table] }]));
}
