import { sha256Of } from "../../snapshot/sha256.ts";
import { bytesOf } from "./bytes-of.ts";
import { isEqual } from "./equal-bytes.ts";
import { MOST_PART_BYTES } from "./row-table.ts";
import type { SqlDatabase } from "./sql-database.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Hashes that are listed at once. */
const PAGE = 256;

/**
 * The parts of generations by their hash, and by scope a text about the newest generation. A part that is longer than a row may be takes several
 * rows. Parts are not checked here: their hash says what they are.
 */
export class PartTable {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
    database.sql.exec(
      `CREATE TABLE IF NOT EXISTS generation_parts (
         hash TEXT NOT NULL, row INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (hash, row)
       ) WITHOUT ROWID`,
    );
    database.sql.exec(
      `CREATE TABLE IF NOT EXISTS generations (
         scope TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL, digest BLOB NOT NULL
       ) WITHOUT ROWID`,
    );
  }

  /** Runs `change` whole or, when it throws, not at all. */
  transaction(change: () => void): void {
    this.#database.transactionSync(change);
  }

  /** The bytes that are kept under a hash; undefined for none. */
  read(hash: string): Bytes | undefined {
    const rows = this.#database.sql
      .exec("SELECT body FROM generation_parts WHERE hash = ? ORDER BY row", hash)
      .toArray();
    if (rows.length === 0) return undefined;
    const bodies = rows.map(({ body }) => bytesOf(body));
    if (bodies.length === 1) return bodies[0];
    const bytes = new Uint8Array(bodies.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const body of bodies) {
      bytes.set(body, at);
      at += body.length;
    }
    return bytes;
  }

  /** Keeps a part. Rows that have it already are not written again: rows written are billed. */
  write(hash: string, bytes: Bytes): void {
    const { sql } = this.#database;
    const before = this.read(hash);
    if (before !== undefined && isEqual(before, bytes)) return;
    if (before !== undefined) this.remove(hash);
    for (let row = 0; row * MOST_PART_BYTES < bytes.length; row++)
      sql.exec(
        "INSERT INTO generation_parts (hash, row, body) VALUES (?, ?, ?)",
        ...[hash, row, bytes.slice(row * MOST_PART_BYTES, (row + 1) * MOST_PART_BYTES).buffer],
      );
  }

  remove(hash: string): void {
    this.#database.sql.exec("DELETE FROM generation_parts WHERE hash = ?", hash);
  }

  /** The hash of each part, in order: many with one query. */
  *hashes(): Generator<string> {
    for (let after = ""; ; ) {
      const page = this.#database.sql
        .exec(
          `SELECT hash FROM generation_parts WHERE hash > ? AND row = 0 ORDER BY hash LIMIT ${PAGE}`,
          after,
        )
        .toArray();
      for (const { hash } of page) yield String(hash);
      if (page.length < PAGE) return;
      after = String(page.at(-1)!.hash);
    }
  }

  /** What is kept of a scope's newest generation; undefined for nothing, or something damaged. */
  readGeneration(scope: string): string | undefined {
    const [found] = this.#database.sql
      .exec("SELECT body, digest FROM generations WHERE scope = ?", scope)
      .toArray();
    if (found === undefined) return undefined;
    const text = String(found.body);
    return isEqual(bytesOf(found.digest), digestOf(scope, text)) ? text : undefined;
  }

  writeGeneration(scope: string, text: string): void {
    this.#database.sql.exec(
      `INSERT INTO generations (scope, body, digest) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET body = excluded.body, digest = excluded.digest`,
      ...[scope, text, digestOf(scope, text).buffer],
    );
  }
}

/** SHA-256 over a scope and the text about it. */
function digestOf(scope: string, text: string): Bytes {
  return Uint8Array.from(sha256Of(new TextEncoder().encode(`${JSON.stringify(scope)}\n${text}`)));
}
