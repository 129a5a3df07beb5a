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
