import type { Database } from "./driver.ts";

/** The version of the tables. A database of another version is emptied: workers push again. */
export const DATABASE_VERSION = 2;

const TABLES = ["entry", "claim", "cluster", "log", "happened", "meta"] as const;

/**
 * - `entry`: what clusters report, by the key in which queries are answered (`places.ts`). A large entry has several parts. `text` is JSON, empty
 *   for an entry that is gone and has a rank. `reported` and `counts` are the rank (`ranks.ts`), of part 0. `sum` is that of the row. With row ids: in a
 *   table `WITHOUT ROWID` texts of 1,000 bytes and more go to pages of their own, which takes twice the bytes and three times the CPU to write and to read.
 * - `claim`: which addresses clusters report for which services, by 64 neighbours: `Claims` as JSON.
 * - `cluster`: a `ClusterRow` as JSON. `change` grows with every change of a row, also with renewals, which are not in the log.
 * - `log`: the changes that were applied, the newest ones. `keys` is a JSON array; NULL for all keys of the cluster.
 * - `happened`: what of one kind happened to a cluster in one minute, for people: the newest ones of each cluster. `keys` is a JSON array of some services, `at` a
 *   time of the gateway's clock.
 * - `meta`: single values. `id` is that of this database, no other one has it.
 */
const CREATE = `
  ${createRowTables("")}
  CREATE TABLE log (
    position INTEGER PRIMARY KEY, cluster TEXT NOT NULL, generation INTEGER NOT NULL, kind TEXT NOT NULL, keys TEXT
  );
  CREATE TABLE happened (
    cluster TEXT NOT NULL, kind TEXT NOT NULL, minute INTEGER NOT NULL, count INTEGER NOT NULL, ranked INTEGER NOT NULL, at INTEGER NOT NULL,
    keys TEXT NOT NULL, PRIMARY KEY (cluster, kind, minute)
  ) WITHOUT ROWID;
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`;

/** Creates the tables, or brings those of another version to this one. The only place that changes tables. @returns whether a database of another version was emptied */
export function migrate(database: Database): boolean {
  return database.atomically(() => {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const isThere = tables.some(({ name }) => name === "meta");
    const version = isThere && database.prepare("SELECT value FROM meta WHERE name = 'version'").get()?.value;
    if (version === String(DATABASE_VERSION)) return false;
    for (const table of TABLES) database.exec(`DROP TABLE IF EXISTS ${table}`);
    database.exec(CREATE);
    database.prepare("INSERT INTO meta (name, value) VALUES ('version', ?)").run(String(DATABASE_VERSION));
    database.exec("INSERT INTO meta (name, value) VALUES ('id', hex(randomblob(8)))");
    return isThere;
  });
}

/** The statements that create the tables of clusters and their rows. @param prefix of the names of the tables */
export function createRowTables(prefix: string): string {
  return `
  CREATE TABLE ${prefix}entry (
    key TEXT NOT NULL, kind INTEGER NOT NULL, cluster TEXT NOT NULL, name TEXT NOT NULL, part INTEGER NOT NULL,
    reported INTEGER, counts INTEGER, sum INTEGER NOT NULL, text TEXT NOT NULL
  );
  CREATE INDEX ${prefix}entry_by_key ON ${prefix}entry (key, kind, cluster, name, part);
  CREATE UNIQUE INDEX ${prefix}entry_by_name ON ${prefix}entry (cluster, kind, name, part);
  CREATE TABLE ${prefix}claim (bucket TEXT NOT NULL, cluster TEXT NOT NULL, text TEXT NOT NULL, sum INTEGER NOT NULL);
  CREATE UNIQUE INDEX ${prefix}claim_by_bucket ON ${prefix}claim (bucket, cluster);
  CREATE INDEX ${prefix}claim_by_cluster ON ${prefix}claim (cluster);
  CREATE TABLE ${prefix}cluster (id TEXT PRIMARY KEY, text TEXT NOT NULL, sum INTEGER NOT NULL, change INTEGER NOT NULL) WITHOUT ROWID;`;
}

/** What a store refuses to do. */
type StoreErrorCode = "STATE_DIRECTORY_IN_USE" | "STORE_FULL" | "STORE_FAILED" | "STORE_CLOSED";

/** A store that cannot do a request; failures of the disk come as the system's own errors. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What systems call a medium without room: of files (errno(3)), of a Durable Object's SQLite. */
const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "SQLITE_FULL"]);

/**
 * What a client gets if a medium failed: STORE_FULL, or STORE_FAILED with the system's code; what a store says itself stays as it is. Undefined where
 * something else is the matter.
 */
export function storeFailure(error: unknown): StoreError | undefined {
  if (isDiskFailure(error)) return error;
  const code = systemCode(error);
  if (code === undefined) return undefined;
  return FULL.has(code)
    ? new StoreError(
        "STORE_FULL",
        `the gateway's disk is full (${code}): nothing can be stored until there is room`,
      )
    : new StoreError(
        "STORE_FAILED",
        `the gateway's disk cannot be written (${code}): nothing can be stored until it works`,
      );
}

/** Whether a store could not be written, for want of room or otherwise. */
export function isDiskFailure(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.code === "STORE_FULL" || error.code === "STORE_FAILED");
}

function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof StoreError) return undefined;
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : sqliteCode(error);
}

/** What SQLite says of its codes (sqlite3.c, `sqlite3ErrStr`): Deno has no number for most of them. */
const SQLITE_CODES: readonly (readonly [text: string, code: string])[] = [
  ["database is locked", "SQLITE_BUSY"],
  ["attempt to write a readonly database", "SQLITE_READONLY"],
  ["disk I/O error", "SQLITE_IOERR"],
  ["database disk image is malformed", "SQLITE_CORRUPT"],
  ["database or disk is full", "SQLITE_FULL"],
  ["unable to open database file", "SQLITE_CANTOPEN"],
  ["file is not a database", "SQLITE_NOTADB"],
];

/** The code of an error of SQLite, on whatever host; undefined for other errors, and those of a statement. */
export function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  return /\bSQLITE_[A-Z]+/.exec(message)?.[0] ?? SQLITE_CODES.find(([text]) => message.startsWith(text))?.[1];
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
