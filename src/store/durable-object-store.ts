import { isClusterId } from "../snapshot/cluster-id.ts";
import { type FoundRow, type RecordRow, RecordTable } from "./record-table.ts";
import { readLeaseRecord, readSnapshotRecord, replayRecords } from "./replay.ts";
import type { SqlDatabase } from "./sql-database.ts";
import type { SnapshotStore, StoreChange, StoredCluster } from "./store.ts";
import { messageOf, type OnStoreWarning, StoreError } from "./store-error.ts";

/** Settings of a store in a Durable Object. */
export interface DurableObjectStoreOptions {
  /** Is told of everything damaged that was found, and gone on without. */
  readonly onWarning: OnStoreWarning;
}

/** Octets of a row's body; a row may have 2 MB. */
const PART_BYTES = 1024 * 1024;
/** Below this the deltas are not worth folding, however small the snapshot. */
const LEAST_FOLDED_BYTES = 65_536;
/** A longer journal would take long to replay. */
const MOST_PATCHES = 1000;

/** What is known of a cluster's rows without looking. */
interface Held {
  readonly series: number;
  readonly snapshotBytes: number;
  generation: number;
  patches: number;
  patchBytes: number;
  /** Whether the journal cannot be added to. */
  torn: boolean;
}

/**
 * A store in the SQLite storage of a Durable Object: a full snapshot in parts, a row for each delta since, and one for the last
 * renewal. An accepted delta or renewal writes one row, a full snapshot one for each MiB of its JSON.
 * What `keep` has written is durable before the object's next response leaves it (its output gate).
 */
export function createDurableObjectStore(
  database: SqlDatabase,
  options: DurableObjectStoreOptions,
): SnapshotStore {
  return new DurableObjectStore(new RecordTable(database), options.onWarning);
}

class DurableObjectStore implements SnapshotStore {
  readonly #table: RecordTable;
  readonly #warn: OnStoreWarning;
  /** By cluster id; undefined where rows were found but no sound snapshot in them. */
  readonly #held = new Map<string, Held>();
  /** The last series of each cluster that has rows. */
  readonly #series = new Map<string, number>();
  /** Settles when it is known what the table holds. */
  #loaded: Promise<void> | undefined;
  #closed = false;

  constructor(table: RecordTable, warn: OnStoreWarning) {
    this.#table = table;
    this.#warn = warn;
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
      const body = encode({ kind: "lease", meta: change.meta });
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
    if (held.patchBytes > Math.max(held.snapshotBytes, LEAST_FOLDED_BYTES)) return false;
    const body = encode({ kind: "patch", base: held.generation, meta, patch });
    if (body.length > PART_BYTES) return false;
    const row: RecordRow = { kind: "patch", number: held.patches, of: 0, series: held.series, body };
    await this.#table.write(clusterId, [row]);
    held.generation = meta.generation;
    held.patches++;
    held.patchBytes += body.length;
    return true;
  }

  async #replace(
    clusterId: string,
    { meta, snapshot }: Exclude<StoreChange, { kind: "lease" }>,
  ): Promise<void> {
    const bytes = encode({ meta, snapshot });
    const series = (this.#series.get(clusterId) ?? 0) + 1;
    const of = Math.ceil(bytes.length / PART_BYTES);
    const rows = Array.from(
      { length: of },
      (_, number): RecordRow => ({
        kind: "snapshot",
        number,
        of,
        series,
        body: bytes.subarray(number * PART_BYTES, (number + 1) * PART_BYTES),
      }),
    );
    // Deltas and the renewal of the series before stay, and are written over: they are told by their series.
    await this.#table.write(clusterId, rows, of);
    const { generation } = meta;
    const snapshotBytes = bytes.length;
    this.#series.set(clusterId, series);
    this.#held.set(clusterId, { series, snapshotBytes, generation, patches: 0, patchBytes: 0, torn: false });
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
    const all = [...rows.snapshot, ...rows.patch, ...rows.lease].filter(({ intact }) => intact);
    this.#series.set(clusterId, Math.max(0, ...all.map(({ series }) => series)));
    this.#held.delete(clusterId);
    let base: StoredCluster;
    try {
      base = readSnapshotRecord(decode(wholeSnapshot(rows.snapshot)), clusterId);
    } catch (error) {
      this.#report("CORRUPT_SNAPSHOT", clusterId, `the snapshot is not loaded: ${messageOf(error)}`);
      return undefined;
    }
    const { series } = rows.snapshot[0]!;
    const patches = rows.patch.filter((row) => row.series === series);
    const good = patches.slice(0, firstBroken(patches));
    const { cluster, records, damage } = replayRecords(
      base,
      good.map(({ body }) => decode([body])),
    );
    const torn = records < patches.length;
    if (torn) {
      const why = damage ?? "a row is missing, torn or altered";
      this.#report("CORRUPT_JOURNAL", clusterId, `cut after ${records} of ${patches.length} deltas: ${why}`);
    }
    const { generation } = cluster.meta;
    this.#held.set(clusterId, {
      series,
      snapshotBytes: lengthOf(rows.snapshot),
      generation,
      patches: records,
      patchBytes: lengthOf(good),
      torn,
    });
    const [lease] = rows.lease.filter((row) => row.intact && row.series === series);
    const renewed = lease === undefined ? undefined : readLeaseRecord(decode([lease.body]));
    return renewed?.generation === generation ? { ...cluster, meta: renewed } : cluster;
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

/** The bodies of a snapshot's parts. @throws {Error} where one is missing, torn or altered, or of another snapshot */
function wholeSnapshot(parts: readonly FoundRow[]): Uint8Array[] {
  const first = parts[0];
  if (first === undefined) throw new Error("it has no rows");
  const fits = ({ number, of, series, intact }: FoundRow, index: number) =>
    intact && number === index && of === parts.length && series === first.series;
  if (!parts.every(fits)) throw new Error("a row is missing, torn or altered");
  return parts.map(({ body }) => body);
}

/** The place of the first delta that is not sound. */
function firstBroken(patches: readonly FoundRow[]): number {
  const broken = patches.findIndex(({ intact, number }, index) => !intact || number !== index);
  return broken === -1 ? patches.length : broken;
}

function lengthOf(rows: readonly RecordRow[]): number {
  return rows.reduce((sum, { body }) => sum + body.length, 0);
}

function encode(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

function decode(parts: readonly Uint8Array[]): unknown {
  const decoder = new TextDecoder();
  let text = "";
  for (const part of parts) text += decoder.decode(part, { stream: true });
  return JSON.parse(text + decoder.decode());
}
