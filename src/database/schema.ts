import type { HeldReport } from "../snapshot/report.ts";
import type { Database } from "./driver.ts";

/** What the gateway holds of one cluster besides its entries. Times are Unix milliseconds. */
export interface ClusterMeta extends HeldReport {
  /** Grows with each accepted push; a patch names the one it builds on. */
  readonly generation: number;
  /** When the last push was accepted. */
  readonly pushedAt: number;
  /** When the lease was last renewed. */
  readonly renewedAt: number;
  /** When the lease expires. */
  readonly expiresAt: number;
  /**
   * The machine's uptime at `renewedAt`, in milliseconds, where it is known: the wall clock may be set before
   * this is read.
   */
  readonly uptime?: { readonly boot: string; readonly at: number } | undefined;
  /** What the worker that holds the lease reads, as it named it; absent for a lease without a name. */
  readonly instance?: string | undefined;
}

/** Totals of a cluster without entries. */
export const NO_TOTALS = {
  namespaces: 0,
  exports: 0,
  imports: 0,
  services: 0,
  pods: 0,
  findings: 0,
  endpoints: 0,
  ports: 0,
  metadataCharacters: 0,
  /** Characters of its entries as JSON, each with its key, a colon and a comma. */
  characters: 0,
};

/** How much a cluster has of everything that is bounded, by the keys of the settings under `limits`. */
export type Totals = Readonly<typeof NO_TOTALS>;

/** A cluster that the gateway knows. */
export interface ClusterRow {
  readonly id: string;
  /**
   * - `live`: until the lease ends by the clock.
   * - `expired`: the lease ended; its entries stay in the database, and come back with the next renewal,
   *   patch or push.
   * - `removed`: the lease ended, others after it, and its entries went. Ranks are there; the next push must
   *   be whole.
   * - `left`: on purpose, also without ever having come. No entry is there; ranks are.
   * - `damaged`: rows were lost. No entry is there; the next push must be whole.
   * - `arriving`: its first push is not there whole. Nothing of it counts; the next push must be whole.
   */
  readonly state: "live" | "expired" | "removed" | "left" | "damaged" | "arriving";
  /** A large push is there in part, each entry whole: the next push must be whole. */
  readonly isPartial?: true | undefined;
  /** As of the last change; absent where it is not known. */
  readonly meta?: ClusterMeta | undefined;
  readonly totals: Totals;
  /** The sum of the sums of its rows, modulo 2^48. */
  readonly sum: number;
  /**
   * How many rows of claims it has; absent for none. Their sums differ from gateway to gateway, as positions
   * of the log do.
   */
  readonly claims?: number | undefined;
  /** When it was last seen with its exports and imports. */
  readonly seenAt: number;
  /** The latest time that its ranks ever had. */
  readonly latest: number;
  /** Exports and imports have no ranks yet, because no clock was set when they came. */
  readonly isUnranked?: true | undefined;
  /** Ranks were lost with damaged rows: what comes back without one counts as there first. */
  readonly hasLostRanks?: true | undefined;
}

/** The version of the tables. A database of another version is emptied: workers push again. */
export const DATABASE_VERSION = 5;

const TABLES = ["entry", "claim", "cluster", "log", "happened", "meta"] as const;

/**
 * - `entry`: what clusters report, by the key in which queries are answered (`places.ts`). A large entry has
 *   several parts. `text` is JSON, empty for an entry that is gone and has a rank. `reported` and `counts`
 *   are the rank (`ranks.ts`), of part 0. `sum` is that of the row. With row ids: in a table `WITHOUT ROWID`
 *   texts of 1,000 bytes and more go to pages of their own, which takes twice the bytes and three times the
 *   CPU to write and to read.
 * - `claim`: which addresses clusters report for which services, by 64 neighbours: `Claims` as JSON. Where
 *   too many report one address, a row for each further service, with its order (`waitingBucket`).
 * - `cluster`: a `ClusterRow` as JSON. `change` grows with every change of a row, also with renewals, which
 *   are not in the log.
 * - `log`: the changes that were applied, the newest ones. `keys` is a JSON array, a change of many has
 *   several rows; NULL for all keys of the cluster.
 * - `happened`: what of one kind happened to a cluster in one minute, for people: the newest ones of each
 *   cluster. `keys` is a JSON array of some services, `at` a time of the gateway's clock.
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

/**
 * Creates the tables, or brings those of another version to this one. The only place that changes tables.
 * @returns whether a database of another version was emptied
 */
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

/**
 * The statements that create the tables of clusters and their rows.
 * @param prefix of the names of the tables
 */
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
