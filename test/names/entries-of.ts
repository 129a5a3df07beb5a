import type { Kind } from "../../src/database/places.ts";
import type { EntryRow } from "../../src/database/reader.ts";
import type { Visibility } from "../../src/merge/visibility.ts";
import { createEntryFilter } from "../../src/merge/visible.ts";
import { DatabaseEntries } from "../../src/names/database-entries.ts";
import { SnapshotRows } from "../../src/names/snapshot-rows.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";

/** From when an export or import counts; undefined where it counts as reported. */
export type Ranked = (clusterId: string, kind: Kind, key: string) => number | null | undefined;

/** Rows that count from other times than reported. */
export class RankedRows extends SnapshotRows {
  readonly #ranked: Ranked;

  constructor(snapshots: readonly ClusterSnapshot[], ranked: Ranked) {
    super(snapshots);
    this.#ranked = ranked;
  }

  override rowsOf(key: string): EntryRow[] {
    return super.rowsOf(key).map((row) => this.#rank(row));
  }

  override entry(cluster: string, kind: Kind, name: string): EntryRow | undefined {
    const row = super.entry(cluster, kind, name);
    return row && this.#rank(row);
  }

  #rank(row: EntryRow): EntryRow {
    const counts = this.#ranked(row.cluster, row.kind, row.name);
    return counts === undefined ? row : { ...row, counts };
  }
}

/** The entries of live clusters, in a scope. */
export function entriesOf(
  snapshots: readonly ClusterSnapshot[],
  visibility: Visibility = {},
  ranked: Ranked = () => undefined,
): DatabaseEntries {
  const live = snapshots.map(({ clusterId }) => clusterId);
  return new DatabaseEntries(new RankedRows(snapshots, ranked), live, createEntryFilter(visibility));
}
