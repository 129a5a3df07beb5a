import type { Database } from "./driver.ts";

/** The version of the tables. A database of another version is emptied: workers push again. */
export const DATABASE_VERSION = 1;

const TABLES = ["entry", "claim", "cluster", "log", "meta"] as const;

/**
 * - `entry`: what clusters report, by the key in which queries are answered (`places.ts`). A large entry has several parts. `text` is JSON, empty
 *   for an entry that is gone and has a rank. `reported` and `counts` are the rank (`ranks.ts`), of part 0. `sum` is that of the row. With row ids: in a
 *   table `WITHOUT ROWID` texts of 1,000 bytes and more go to pages of their own, which takes twice the bytes and three times the CPU to write and to read.
 * - `claim`: which addresses clusters report for which services, by 64 neighbours (`claims.ts`). Part 1 has what answers do not read.
 * - `cluster`: a `ClusterRow` as JSON.
 * - `log`: the changes that were applied, the newest ones. `keys` is a JSON array; NULL for all keys of the cluster.
 * - `meta`: single values.
 */
const CREATE = `
  CREATE TABLE entry (
    key TEXT NOT NULL, kind INTEGER NOT NULL, cluster TEXT NOT NULL, name TEXT NOT NULL, part INTEGER NOT NULL,
    reported INTEGER, counts INTEGER, sum INTEGER NOT NULL, text TEXT NOT NULL
  );
  CREATE INDEX entry_by_key ON entry (key, kind, cluster, name, part);
  CREATE UNIQUE INDEX entry_by_name ON entry (cluster, kind, name, part);
  CREATE TABLE claim (bucket TEXT NOT NULL, cluster TEXT NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, sum INTEGER NOT NULL);
  CREATE UNIQUE INDEX claim_by_bucket ON claim (bucket, cluster, part);
  CREATE INDEX claim_by_cluster ON claim (cluster);
  CREATE TABLE cluster (id TEXT PRIMARY KEY, text TEXT NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE log (
    position INTEGER PRIMARY KEY, cluster TEXT NOT NULL, generation INTEGER NOT NULL, kind TEXT NOT NULL, keys TEXT
  );
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
    return isThere;
  });
}
