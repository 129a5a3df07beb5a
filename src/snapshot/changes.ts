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

/** Counts the entries of a state, all of which go. */
export function countRemoved(held: HeldState): SnapshotChanges {
  const counted: { [Name in Collection]?: TableChanges } = {};
  for (const collection of COLLECTIONS) {
    let removed = 0;
    for (const _ of held.keys(collection)) removed++;
    if (removed > 0) counted[collection] = { added: 0, changed: 0, removed };
  }
  return counted;
}

/** Counts the changes that a delta makes in a state. */
export function countDelta(held: HeldState, { entries }: SnapshotDelta): SnapshotChanges {
  const counted: { [Name in Collection]?: { added: number; changed: number; removed: number } } = {};
  for (const { collection, key, entry } of entries) {
    counted[collection] ??= { added: 0, changed: 0, removed: 0 };
    if (entry === undefined) counted[collection].removed++;
    else if (!held.has(collection, key)) counted[collection].added++;
    else counted[collection].changed++;
  }
  return counted;
}
