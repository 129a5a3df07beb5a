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
