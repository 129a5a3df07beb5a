import type { SqlDatabase } from "./sql-database.ts";

/** A part of a full snapshot, a delta since, or the last renewal. */
export type RecordKind = "snapshot" | "patch" | "lease";

/** One row of a cluster. */
export interface RecordRow {
  readonly kind: RecordKind;
  /** The place among the rows of its kind, from 0. */
  readonly number: number;
  /** How many rows its kind has; 0 where that is not known beforehand. */
  readonly of: number;
  /** Which full snapshot it belongs to: each takes the next number. */
  readonly series: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A row as it was found. */
export interface FoundRow extends RecordRow {
  /** Whether the checksum fits; nothing else of a row can be relied on where it does not. */
  readonly intact: boolean;
}

/**
 * The table of all clusters' records. Each row has a checksum over all of its columns, so that a row that is torn, altered or
 * misplaced is never taken for another. Rows are replaced in place where possible: deleting one is billed like writing one.
 */
export class RecordTable {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
    database.sql.exec(
      `CREATE TABLE IF NOT EXISTS cluster_records (
         cluster_id TEXT NOT NULL, kind TEXT NOT NULL, number INTEGER NOT NULL, of INTEGER NOT NULL,
         series INTEGER NOT NULL, body BLOB NOT NULL, digest BLOB NOT NULL,
         PRIMARY KEY (cluster_id, kind, number)
       ) WITHOUT ROWID`,
    );
  }

  clusterIds(): string[] {
    const rows = this.#database.sql.exec("SELECT DISTINCT cluster_id FROM cluster_records").toArray();
    return rows.map((row) => String(row.cluster_id));
  }

  /** The rows of a cluster by their kind, each kind in order. */
  async read(clusterId: string): Promise<Record<RecordKind, FoundRow[]>> {
    const found: Record<RecordKind, FoundRow[]> = { snapshot: [], patch: [], lease: [] };
    const rows = this.#database.sql
      .exec(
        "SELECT kind, number, of, series, body, digest FROM cluster_records WHERE cluster_id = ? ORDER BY kind, number",
        clusterId,
      )
      .toArray();
    for (const { kind, number, of, series, body, digest } of rows) {
      const list = found[kind as RecordKind] as FoundRow[] | undefined;
      if (list === undefined) continue;
      const row = {
        kind: kind as RecordKind,
        number: Number(number),
        of: Number(of),
        series: Number(series),
        body: bytesOf(body),
      };
      list.push({ ...row, intact: equal(bytesOf(digest), new Uint8Array(await digestOf(clusterId, row))) });
    }
    return found;
  }

  /** Writes rows in one step, over those in their places. @param parts how many rows of a snapshot stay; all where it is not given */
  async write(clusterId: string, rows: readonly RecordRow[], parts?: number): Promise<void> {
    const digests = await Promise.all(rows.map((row) => digestOf(clusterId, row)));
    this.#database.transactionSync(() => {
      for (const [index, { kind, number, of, series, body }] of rows.entries())
        this.#database.sql.exec(
          `INSERT INTO cluster_records (cluster_id, kind, number, of, series, body, digest) VALUES (?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET of = excluded.of, series = excluded.series, body = excluded.body, digest = excluded.digest`,
          clusterId,
          kind,
          number,
          of,
          series,
          buffer(body),
          digests[index]!,
        );
      if (parts !== undefined)
        this.#database.sql.exec(
          "DELETE FROM cluster_records WHERE cluster_id = ? AND kind = 'snapshot' AND number >= ?",
          clusterId,
          parts,
        );
    });
  }

  remove(clusterId: string): void {
    this.#database.sql.exec("DELETE FROM cluster_records WHERE cluster_id = ?", clusterId);
  }
}

/** SHA-256 over all that a row says. */
function digestOf(clusterId: string, { kind, number, of, series, body }: RecordRow): Promise<ArrayBuffer> {
  const head = new TextEncoder().encode(`${JSON.stringify([clusterId, kind, number, of, series])}\n`);
  const all = new Uint8Array(head.length + body.length);
  all.set(head);
  all.set(body, head.length);
  return crypto.subtle.digest("SHA-256", all);
}

function bytesOf(value: unknown): Uint8Array<ArrayBuffer> {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(0);
}

function buffer({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>): ArrayBuffer {
  return length === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + length);
}

function equal(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((octet, index) => octet === other[index]);
}
