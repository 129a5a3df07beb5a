import type { SnapshotDelta } from "./entry-changes.ts";
import type { HeldState } from "./lines/held-state.ts";
import { COLLECTIONS, type Collection, type Entries } from "./parse.ts";
import type { ClusterSnapshot } from "./schema.ts";

/** How many entries of a snapshot's table are new, other than before, and gone. */
export interface TableChanges {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** The tables of a snapshot with changes, alone. */
export type SnapshotChanges = { readonly [Name in Collection]?: TableChanges };

/** Counts the changes from one snapshot to the next. Entries are compared by identity: parsing keeps that of equal ones. */
export function countChanges(
  before: ClusterSnapshot | undefined,
  after: ClusterSnapshot | undefined,
): SnapshotChanges {
  return countEach((table) => {
    const old: Entries = before?.[table] ?? {};
    const next: Entries = after?.[table] ?? {};
    let added = 0;
    let changed = 0;
    let kept = 0;
    for (const key of Object.keys(next))
      if (!Object.hasOwn(old, key)) added++;
      else {
        kept++;
        if (old[key] !== next[key]) changed++;
      }
    return { added, changed, removed: Object.keys(old).length - kept };
  });
}

/** Counts the changes that a delta makes in a state. */
export function countDelta(held: HeldState, { entries }: SnapshotDelta): SnapshotChanges {
  const counted: { [Name in Collection]?: { added: number; changed: number; removed: number } } = {};
  for (const { collection, key, entry } of entries) {
    counted[collection] ??= { added: 0, changed: 0, removed: 0 };
    if (entry === undefined) counted[collection].removed++;
    else if (held.entry(collection, key) === undefined) counted[collection].added++;
    else counted[collection].changed++;
  }
  return counted;
}

function countEach(count: (table: Collection) => TableChanges): SnapshotChanges {
  const counted = COLLECTIONS.map((table) => [table, count(table)] as const);
  return Object.fromEntries(
    counted.filter(([, { added, changed, removed }]) => added + changed + removed > 0),
  );
}
