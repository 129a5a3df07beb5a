import { sha256Of } from "../../snapshot/sha256.ts";
import { bytesOf } from "./bytes-of.ts";
import { isEqual } from "./equal-bytes.ts";
import type { SqlDatabase, SqlValue } from "./sql-database.ts";

/** Notes that are read at once. */
const PAGE = 16;

/** Texts by scope and name, each with a SHA-256 over all three. */
export class NoteTable {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
    database.sql.exec(
      `CREATE TABLE IF NOT EXISTS generation_notes (
         scope TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (scope, name)
       ) WITHOUT ROWID`,
    );
  }

  /** All notes of a scope, in order. @throws {Error} for one that is damaged */
  *read(scope: string): Generator<readonly [name: string, text: string]> {
    for (let after = ""; ; ) {
      const page = this.#database.sql
        .exec(
          `SELECT name, body, digest FROM generation_notes WHERE scope = ? AND name > ? ORDER BY name LIMIT ${PAGE}`,
          ...[scope, after],
        )
        .toArray();
      for (const row of page) {
        after = String(row.name);
        yield [after, textOf(scope, row)];
      }
      if (page.length < PAGE) return;
    }
  }

  /** A note; undefined where there is none. @throws {Error} for one that is damaged */
  readOne(scope: string, name: string): string | undefined {
    const [row] = this.#database.sql
      .exec("SELECT name, body, digest FROM generation_notes WHERE scope = ? AND name = ?", scope, name)
      .toArray();
    return row && textOf(scope, row);
  }

  /** Replaces a note, unless its row has the text already: rows written are billed. @param text undefined removes it */
  write(scope: string, name: string, text: string | undefined): void {
    const { sql } = this.#database;
    const [before] = sql
      .exec("SELECT digest FROM generation_notes WHERE scope = ? AND name = ?", scope, name)
      .toArray();
    if (text === undefined) {
      if (before !== undefined)
        sql.exec("DELETE FROM generation_notes WHERE scope = ? AND name = ?", scope, name);
      return;
    }
    const digest = digestOf(scope, [name, text]);
    if (before === undefined || !isEqual(bytesOf(before.digest), digest))
      sql.exec(
        `INSERT INTO generation_notes (scope, name, body, digest) VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET body = excluded.body, digest = excluded.digest`,
        ...[scope, name, text, digest.buffer],
      );
  }

  clear(scope: string): void {
    this.#database.sql.exec("DELETE FROM generation_notes WHERE scope = ?", scope);
  }
}

/** @throws {Error} for a row that is damaged */
function textOf(scope: string, { name, body, digest }: Readonly<Record<string, SqlValue>>): string {
  const note = [String(name), String(body)] as const;
  if (!isEqual(bytesOf(digest!), digestOf(scope, note))) throw new Error(`the note ${note[0]} is damaged`);
  return note[1];
}

function digestOf(scope: string, [name, text]: readonly [string, string]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(sha256Of(new TextEncoder().encode(`${JSON.stringify([scope, name])}\n${text}`)));
}
