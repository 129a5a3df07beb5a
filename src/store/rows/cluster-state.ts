import * as z from "zod";
import { ClusterMeta } from "../cluster-meta.ts";
import { DamagedRow, type EncodedRow, type RowTable } from "./row-table.ts";

/** All rows of a cluster have names between these, but for the two that are named here. */
export const ENTRY_ROWS = ["A", "~"] as const;
/**
 * What rows of entries are valid by. Rows are validated when they are pushed, and when they are loaded only if they have another version: raise it when the
 * schema of snapshots rejects something that it accepted.
 */
export const ROWS_VERSION = 1;
const STATE_ROW = "@state";
const LEASE_ROW = "@lease";

const ClusterState = z.strictObject({
  meta: ClusterMeta,
  /** `ROWS_VERSION` when the rows were validated. */
  version: z.int(),
  /** Parts of all rows of entries: fewer are a sign of damage. */
  parts: z.int(),
  /** Characters of all rows of entries. */
  characters: z.int(),
});

/** What is known of a cluster beside its entries. */
export type ClusterState = z.infer<typeof ClusterState>;

/** Reads the row with a cluster's state, and its last renewal. @throws {Error} for a row that is missing or damaged */
export function readState(table: RowTable, clusterId: string): ClusterState {
  const row = table.read(clusterId, STATE_ROW);
  if (row === undefined) throw new DamagedRow("its state is missing");
  const state = ClusterState.parse(JSON.parse(row.text));
  const renewed = readLease(table, clusterId);
  return renewed?.generation === state.meta.generation ? { ...state, meta: renewed } : state;
}

/** The row with a cluster's state. */
export function stateRow(table: RowTable, clusterId: string, state: ClusterState): EncodedRow {
  return table.encode(clusterId, STATE_ROW, JSON.stringify(state));
}

/** The row with a renewal. */
export function leaseRow(table: RowTable, clusterId: string, meta: ClusterMeta): EncodedRow {
  return table.encode(clusterId, LEASE_ROW, JSON.stringify(meta));
}

/** The last renewal; undefined where there is none that is sound: then the lease before it counts. */
function readLease(table: RowTable, clusterId: string): ClusterMeta | undefined {
  try {
    const row = table.read(clusterId, LEASE_ROW);
    return row && ClusterMeta.parse(JSON.parse(row.text));
  } catch {
    return undefined;
  }
}
