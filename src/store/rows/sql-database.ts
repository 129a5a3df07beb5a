/** What SQLite takes and gives as a value here. */
export type SqlValue = ArrayBuffer | string | number | null;

/** The part of a Durable Object's storage (`ctx.storage`) that the store needs: SQLite, called synchronously. */
export interface SqlDatabase {
  readonly sql: {
    exec(query: string, ...bindings: SqlValue[]): { toArray(): Record<string, SqlValue>[] };
  };
  /** Runs `change` whole or, when it throws, not at all. */
  transactionSync<Result>(change: () => Result): Result;
}
