import { isJsonObject } from "./json-value.ts";
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

/** Counts the changes that a merge patch (RFC 7396) made to the snapshot before it. */
export function countPatched(
  before: ClusterSnapshot | undefined,
  patch: Readonly<Record<string, unknown>>,
): SnapshotChanges {
  return countEach((table) => {
    const old: Entries = before?.[table] ?? {};
    const patched = patch[table];
    let added = 0;
    let changed = 0;
    let removed = 0;
    for (const [key, value] of Object.entries(isJsonObject(patched) ? patched : {}))
      if (!Object.hasOwn(old, key)) added += value === null ? 0 : 1;
      else if (value === null) removed++;
      else changed++;
    return { added, changed, removed };
  });
}

function countEach(count: (table: Collection) => TableChanges): SnapshotChanges {
  const counted = COLLECTIONS.map((table) => [table, count(table)] as const);
  return Object.fromEntries(
    counted.filter(([, { added, changed, removed }]) => added + changed + removed > 0),
  );
}
