/** A value of a column. */
type SqlValue = string | number | null;

/** A row, by column. */
export type Row = Readonly<Record<string, SqlValue>>;

/** A prepared statement. None stays open: an open read would hold the write-ahead log back. */
export interface Statement {
  run(...values: SqlValue[]): void;
  /** The first row. */
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
}

/** SQLite, called synchronously. Errors are those of the host. */
export interface Database {
  /** Runs statements without values. */
  exec(sql: string): void;
  prepare(sql: string): Statement;
  /** Runs `change` in a transaction: whole or, when it throws, not at all. Calls do not nest. */
  atomically<Result>(change: () => Result): Result;
}

/** The part of a `DatabaseSync` of `node:sqlite` that is needed; Node, Deno and Bun have it. */
export interface SqliteConnection {
  exec(sql: string): void;
  prepare(sql: string): {
    run(...values: SqlValue[]): unknown;
    get(...values: SqlValue[]): unknown;
    all(...values: SqlValue[]): unknown[];
  };
}

/** A database over a connection of `node:sqlite`. */
export function overSqlite(connection: SqliteConnection): Database {
  return {
    exec: (sql) => connection.exec(sql),
    prepare: (sql) => connection.prepare(sql) as Statement,
    atomically(change) {
      connection.exec("BEGIN IMMEDIATE");
      try {
        const result = change();
        connection.exec("COMMIT");
        return result;
      } catch (error) {
        try {
          connection.exec("ROLLBACK");
        } catch {
          // SQLite has rolled back already, as it does on a full disk.
        }
        throw error;
      }
    },
  };
}

/** The part of a Durable Object's storage (`ctx.storage`) that is needed. */
interface ObjectStorage {
  readonly sql: {
    exec(query: string, ...bindings: SqlValue[]): { toArray(): Record<string, unknown>[] };
  };
  transactionSync<Result>(change: () => Result): Result;
}

/** A database over the storage of a Durable Object, which keeps prepared statements by their text. */
export function overStorage(storage: ObjectStorage): Database {
  const { sql } = storage;
  return {
    exec: (text) => void sql.exec(text).toArray(),
    prepare: (text) => {
      const all = (...values: SqlValue[]) => sql.exec(text, ...values).toArray() as Row[];
      return { run: (...values) => void all(...values), get: (...values) => all(...values)[0], all };
    },
    atomically: (change) => storage.transactionSync(change),
  };
}

/** Sums are below: additions of two stay exact. */
const MODULUS = 2 ** 48;

/**
 * A checksum over texts, in 48 bits; any change of one character changes it. No protection against forgery:
 * who can write the database can write sums. The multiplications are those of the public-domain hash cyrb53.
 */
export function sumOf(...texts: string[]): number {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (const text of texts) {
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      low = Math.imul(low ^ unit, 2654435761);
      high = Math.imul(high ^ unit, 1597334677);
    }
    low = Math.imul(low ^ text.length, 2654435761);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return (high & 0xffff) * 2 ** 32 + (low >>> 0);
}

/**
 * The sum of a set of rows after one of them changed.
 * @param before the row's sum, 0 for a new row
 * @param after 0 for a row that goes
 */
export function changedSum(sum: number, before: number, after: number): number {
  return (sum - before + after + MODULUS) % MODULUS;
}
