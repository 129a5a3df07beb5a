import { createSha256 } from "../../snapshot/sha256.ts";
import { bytesOf } from "./bytes-of.ts";
import { isEqual } from "./equal-bytes.ts";
import type { SqlDatabase, SqlValue } from "./sql-database.ts";

/** Bytes of a part of a row. A row of a Durable Object's SQLite may have 2 MB (Cloudflare, "Durable Objects limits"). */
export const MOST_PART_BYTES = 1024 * 1024;
/** Parts that are read at once. */
const PAGE = 32;
/** No row has so many parts. */
const MOST_PARTS = 1e9;

/** A row as it is kept: its text, in as many parts as it takes. */
export interface EncodedRow {
  readonly row: string;
  readonly parts: readonly { readonly body: Uint8Array<ArrayBuffer>; readonly digest: ArrayBuffer }[];
}

/** A row as it was found. */
export interface FoundRow {
  readonly text: string;
  readonly parts: number;
}

/** A row is torn, altered or misplaced, or a part of it is missing. */
export class DamagedRow extends Error {}

/** The rows of all clusters. Each part has a SHA-256 over its place, the number of parts, and its body. */
export class RowTable {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
    database.sql.exec(
      `CREATE TABLE IF NOT EXISTS cluster_rows (
         cluster_id TEXT NOT NULL, name TEXT NOT NULL, part INTEGER NOT NULL, parts INTEGER NOT NULL,
         body BLOB NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (cluster_id, name, part)
       ) WITHOUT ROWID`,
    );
  }

  /** The clusters with rows, in order: one look into the index for each, since DISTINCT would read all rows. */
  clusterIds(): string[] {
    const ids: string[] = [];
    for (let after = ""; ; ) {
      const [found] = this.#database.sql
        .exec("SELECT cluster_id FROM cluster_rows WHERE cluster_id > ? ORDER BY cluster_id LIMIT 1", after)
        .toArray();
      if (found === undefined) return ids;
      after = String(found.cluster_id);
      ids.push(after);
    }
  }

  /** A row; undefined if there is none. @throws {DamagedRow} */
  read(clusterId: string, name: string): FoundRow | undefined {
    const parts = this.#database.sql
      .exec(
        "SELECT part, parts, body, digest FROM cluster_rows WHERE cluster_id = ? AND name = ? ORDER BY part",
        clusterId,
        name,
      )
      .toArray();
    return parts.length === 0 ? undefined : joined(clusterId, name, parts);
  }

  /** Whether there is a row, be it damaged. */
  has(clusterId: string, name: string): boolean {
    const query = "SELECT 1 FROM cluster_rows WHERE cluster_id = ? AND name = ? LIMIT 1";
    return this.#database.sql.exec(query, clusterId, name).toArray().length > 0;
  }

  /** The rows from one name on and before another, in order: many parts with one query. @throws {DamagedRow} */
  *readAll(clusterId: string, from: string, before: string): Generator<FoundRow & { readonly name: string }> {
    let open: Record<string, SqlValue>[] = [];
    let [name, part]: SqlValue[] = [from, MOST_PARTS];
    for (;;) {
      const page = this.#database.sql
        .exec(
          `SELECT name, part, parts, body, digest FROM cluster_rows
           WHERE cluster_id = ? AND (name, part) > (?, ?) AND name < ? ORDER BY name, part LIMIT ${PAGE}`,
          ...[clusterId, name!, part!, before],
        )
        .toArray();
      for (const found of page) {
        if (open.length > 0 && open[0]!.name !== found.name) {
          yield { name: String(open[0]!.name), ...joined(clusterId, String(open[0]!.name), open) };
          open = [];
        }
        open.push(found);
        ({ name, part } = found as { name: SqlValue; part: SqlValue });
      }
      if (page.length === PAGE) continue;
      if (open.length > 0) yield { name: String(name), ...joined(clusterId, String(name), open) };
      return;
    }
  }

  /** The names of the rows from one name on and before another, in order. */
  *names(clusterId: string, from: string, before: string): Generator<string> {
    let after = from;
    for (;;) {
      const rows = this.#database.sql
        .exec(
          `SELECT name FROM cluster_rows WHERE cluster_id = ? AND name > ? AND name < ? AND part = 0
           ORDER BY name LIMIT ${PAGE}`,
          ...[clusterId, after, before],
        )
        .toArray();
      for (const { name } of rows) yield String(name);
      if (rows.length < PAGE) return;
      after = String(rows.at(-1)!.name);
    }
  }

  encode(clusterId: string, row: string, text: string): EncodedRow {
    const bytes = new TextEncoder().encode(text);
    const count = Math.ceil(bytes.length / MOST_PART_BYTES);
    const parts = Array.from({ length: count }, (_, part) => {
      const body = bytes.subarray(part * MOST_PART_BYTES, (part + 1) * MOST_PART_BYTES);
      return { body, digest: digestOf(clusterId, row, part, count, body) };
    });
    return { row, parts };
  }

  /** Writes and removes rows in one step. */
  change(clusterId: string, written: Iterable<EncodedRow>, removed: Iterable<string> = []): void {
    const { sql } = this.#database;
    this.#database.transactionSync(() => {
      for (const name of removed)
        sql.exec("DELETE FROM cluster_rows WHERE cluster_id = ? AND name = ?", clusterId, name);
      for (const { row, parts } of written) {
        for (const [part, { body, digest }] of parts.entries())
          sql.exec(
            `INSERT INTO cluster_rows (cluster_id, name, part, parts, body, digest) VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET parts = excluded.parts, body = excluded.body, digest = excluded.digest`,
            clusterId,
            row,
            part,
            parts.length,
            bufferOf(body),
            digest,
          );
        sql.exec(
          "DELETE FROM cluster_rows WHERE cluster_id = ? AND name = ? AND part >= ?",
          clusterId,
          row,
          parts.length,
        );
      }
    });
  }

  remove(clusterId: string): void {
    this.#database.sql.exec("DELETE FROM cluster_rows WHERE cluster_id = ?", clusterId);
  }
}

function joined(clusterId: string, name: string, found: readonly Record<string, SqlValue>[]): FoundRow {
  const decoder = new TextDecoder();
  let text = "";
  for (const [index, { part, parts, body, digest }] of found.entries()) {
    const bytes = bytesOf(body);
    const right = new Uint8Array(digestOf(clusterId, name, index, found.length, bytes));
    if (Number(part) !== index || Number(parts) !== found.length || !isEqual(bytesOf(digest), right))
      throw new DamagedRow(`the row ${name} is damaged, or a part of it is missing`);
    text += decoder.decode(bytes, { stream: index < found.length - 1 });
  }
  return { text, parts: found.length };
}

/** SHA-256 over all that a part says. */
function digestOf(
  clusterId: string,
  name: string,
  part: number,
  parts: number,
  body: Uint8Array,
): ArrayBuffer {
  const place = new TextEncoder().encode(`${JSON.stringify([clusterId, name, part, parts])}\n`);
  const digest = createSha256().update(place).update(body).digest();
  return new Uint8Array(digest).buffer;
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>): ArrayBuffer {
  return length === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + length);
}
