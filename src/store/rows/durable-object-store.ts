import { isClusterId } from "../../snapshot/cluster-id.ts";
import { readLeaseRecord, readSnapshotRecord, replayRecords } from "../replay.ts";
import type { SnapshotStore, StoreChange, StoredCluster } from "../store.ts";
import { messageOf, type OnStoreWarning, StoreError } from "../store-error.ts";
import { type FoundRow, type RecordRow, RecordTable } from "./record-table.ts";
import { joinSnapshot, MOST_BODY_BYTES, splitSnapshot } from "./snapshot-parts.ts";
import type { SqlDatabase } from "./sql-database.ts";

/** Settings of a store in a Durable Object. */
export interface DurableObjectStoreOptions {
  /** Is told of everything damaged that was found, and gone on without. */
  readonly onWarning: OnStoreWarning;
  /** The most characters that all snapshots together may have as JSON: they have to fit into the object's memory. Default: any. */
  readonly mostCharacters?: number;
}

/** Below this the deltas are not worth folding, however small the snapshot. */
const LEAST_FOLDED_CHARACTERS = 65_536;
/** A longer journal would take long to replay. */
const MOST_PATCHES = 1000;
/** No sound row has a higher one: a thousand snapshots a second for 100,000 years. */
const MOST_SERIES = 2 ** 52;

/** What is known of a cluster's rows without looking. */
interface Held {
  readonly series: number;
  /** Characters of the full snapshot as JSON, and of the deltas since. */
  readonly snapshotCharacters: number;
  patchCharacters: number;
  generation: number;
  patches: number;
  /** Whether the journal cannot be added to. */
  torn: boolean;
}

/**
 * A store in the SQLite storage of a Durable Object: a full snapshot in gzip, a row for each delta since, and one for the last
 * renewal. An accepted delta or renewal writes one row, a full snapshot one for each MiB, which some 15 MiB of JSON become.
 * What `keep` has written is durable before the object's next response leaves it (its output gate).
 */
export function createDurableObjectStore(
  database: SqlDatabase,
  options: DurableObjectStoreOptions,
): SnapshotStore {
  return new DurableObjectStore(new RecordTable(database), options);
}

class DurableObjectStore implements SnapshotStore {
  readonly #table: RecordTable;
  readonly #warn: OnStoreWarning;
  readonly #mostCharacters: number;
  /** By cluster id; undefined where rows were found but no sound snapshot in them. */
  readonly #held = new Map<string, Held>();
  /** The last series of each cluster that has rows. */
  readonly #series = new Map<string, number>();
  /** Settles when it is known what the table holds. */
  #loaded: Promise<void> | undefined;
  #closed = false;

  constructor(
    table: RecordTable,
    { onWarning, mostCharacters = Number.POSITIVE_INFINITY }: DurableObjectStoreOptions,
  ) {
    this.#table = table;
    this.#warn = onWarning;
    this.#mostCharacters = mostCharacters;
  }

  load(): Promise<StoredCluster[]> {
    const loading = this.#load();
    this.#loaded = loading.then(() => {});
    this.#loaded.catch(() => {
      this.#loaded = undefined;
    });
    return loading;
  }

  async keep(clusterId: string, change: StoreChange): Promise<void> {
    this.#refuseUnlessOpen();
    if (!isClusterId(clusterId)) throw new RangeError(`"${clusterId}" is not a cluster id`);
    await (this.#loaded ?? this.load());
    const held = this.#held.get(clusterId);
    if (change.kind === "lease") {
      if (held === undefined) throw StoreError.noSnapshot(clusterId);
      const body = new TextEncoder().encode(JSON.stringify({ kind: "lease", meta: change.meta }));
      await this.#table.write(clusterId, [{ kind: "lease", number: 0, of: 1, series: held.series, body }]);
    } else if (change.kind === "snapshot" || !(await this.#append(clusterId, held, change)))
      await this.#replace(clusterId, change);
  }

  async remove(clusterId: string): Promise<void> {
    this.#refuseUnlessOpen();
    this.#table.remove(clusterId);
    this.#held.delete(clusterId);
    this.#series.delete(clusterId);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  async #append(
    clusterId: string,
    held: Held | undefined,
    { meta, patch }: Extract<StoreChange, { kind: "patch" }>,
  ): Promise<boolean> {
    if (held === undefined || held.torn || held.patches >= MOST_PATCHES) return false;
    if (held.patchCharacters > Math.max(held.snapshotCharacters, LEAST_FOLDED_CHARACTERS)) return false;
    const text = JSON.stringify({ kind: "patch", base: held.generation, meta, patch });
    const body = new TextEncoder().encode(text);
    if (body.length > MOST_BODY_BYTES) return false;
    if (!this.#fits(clusterId, held.snapshotCharacters + held.patchCharacters + text.length)) return false;
    const row: RecordRow = { kind: "patch", number: held.patches, of: 0, series: held.series, body };
    await this.#table.write(clusterId, [row]);
    held.generation = meta.generation;
    held.patches++;
    held.patchCharacters += text.length;
    return true;
  }

  async #replace(
    clusterId: string,
    { meta, snapshot }: Exclude<StoreChange, { kind: "lease" }>,
  ): Promise<void> {
    const text = JSON.stringify({ meta, snapshot });
    if (!this.#fits(clusterId, text.length))
      throw new StoreError(
        "STORE_FULL",
        `with this push all snapshots would have more than ${this.#mostCharacters} characters as JSON, which is the most`,
      );
    const series = (this.#series.get(clusterId) ?? 0) + 1;
    const rows = await splitSnapshot(text, series);
    // Deltas and the renewal of the series before stay, and are written over: they are told by their series.
    await this.#table.write(clusterId, rows, rows.length);
    this.#series.set(clusterId, series);
    this.#held.set(clusterId, {
      series,
      snapshotCharacters: text.length,
      patchCharacters: 0,
      generation: meta.generation,
      patches: 0,
      torn: false,
    });
  }

  async #load(): Promise<StoredCluster[]> {
    const loaded: StoredCluster[] = [];
    // One cluster at a time: rows and snapshots of all of them at once would not fit into the memory.
    for (const clusterId of this.#table.clusterIds()) {
      try {
        const cluster = await this.#loadCluster(clusterId);
        if (cluster !== undefined) loaded.push(cluster);
      } catch (error) {
        this.#report("UNREADABLE_CLUSTER", clusterId, `the cluster is not loaded: ${messageOf(error)}`);
      }
    }
    return loaded;
  }

  async #loadCluster(clusterId: string): Promise<StoredCluster | undefined> {
    const rows = await this.#table.read(clusterId);
    this.#series.set(clusterId, lastSeries([...rows.snapshot, ...rows.patch, ...rows.lease]));
    this.#held.delete(clusterId);
    let base: StoredCluster;
    let snapshotCharacters: number;
    try {
      const text = await joinSnapshot(rows.snapshot);
      snapshotCharacters = text.length;
      base = readSnapshotRecord(JSON.parse(text), clusterId);
    } catch (error) {
      this.#report("CORRUPT_SNAPSHOT", clusterId, `the snapshot is not loaded: ${messageOf(error)}`);
      return undefined;
    }
    const { series } = rows.snapshot[0]!;
    const patches = rows.patch.filter((row) => row.series === series);
    const good = patches.slice(0, firstBroken(patches));
    const { cluster, records, damage } = replayRecords(
      base,
      good.map(({ body }) => decode(body)),
    );
    const torn = records < patches.length;
    if (torn) {
      const why = damage ?? "a row is missing or damaged";
      this.#report("CORRUPT_JOURNAL", clusterId, `cut after ${records} of ${patches.length} deltas: ${why}`);
    }
    const { generation } = cluster.meta;
    this.#held.set(clusterId, {
      series,
      snapshotCharacters,
      patchCharacters: good.reduce((sum, { body }) => sum + body.length, 0),
      generation,
      patches: records,
      torn,
    });
    const [lease] = rows.lease.filter((row) => row.intact && row.series === series);
    const renewed = lease === undefined ? undefined : readLeaseRecord(decode(lease.body));
    return renewed?.generation === generation ? { ...cluster, meta: renewed } : cluster;
  }

  /** Whether a snapshot of at most that length fits beside those of all other clusters. What they grew by since counts at their next. */
  #fits(clusterId: string, characters: number): boolean {
    let sum = characters;
    for (const [other, held] of this.#held) if (other !== clusterId) sum += held.snapshotCharacters;
    return sum <= this.#mostCharacters;
  }

  #report(
    code: "CORRUPT_SNAPSHOT" | "CORRUPT_JOURNAL" | "UNREADABLE_CLUSTER",
    clusterId: string,
    message: string,
  ): void {
    this.#warn({ code, clusterId, path: `cluster_records/${clusterId}`, message });
  }

  #refuseUnlessOpen(): void {
    if (this.#closed) throw new StoreError("STORE_CLOSED", "the store is closed");
  }
}

/** The last series in use. Damaged rows count too, so that none of them fits into the next one. */
function lastSeries(rows: readonly FoundRow[]): number {
  let last = 0;
  for (const { series } of rows) if (series < MOST_SERIES) last = Math.max(last, series);
  return last;
}

/** The place of the first delta that is not sound. */
function firstBroken(patches: readonly FoundRow[]): number {
  const broken = patches.findIndex(({ intact, number }, index) => !intact || number !== index);
  return broken === -1 ? patches.length : broken;
}

function decode(body: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(body));
}
