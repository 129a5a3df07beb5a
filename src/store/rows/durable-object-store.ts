import { isClusterId } from "../../snapshot/cluster-id.ts";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import type { ClusterMeta, SnapshotStore, StoreChange, StoredCluster } from "../store.ts";
import { messageOf, type OnStoreWarning, StoreError } from "../store-error.ts";
import {
  type ClusterState,
  ENTRY_ROWS,
  leaseRow,
  ROWS_VERSION,
  readState,
  stateRow,
} from "./cluster-state.ts";
import { patchRows, type RowChanges, replaceRows } from "./row-changes.ts";
import { RowReader } from "./row-reader.ts";
import { DamagedRow, RowTable } from "./row-table.ts";
import { RowValidator } from "./row-validator.ts";
import type { SqlDatabase } from "./sql-database.ts";

/** Settings of a store in a Durable Object. */
export interface DurableObjectStoreOptions {
  /** Receives everything damaged that was found, and gone on without. */
  readonly onWarning: OnStoreWarning;
  /** The most characters that all entries together may have as JSON. Default: any. */
  readonly mostCharacters?: number;
  /** Called when an entry cannot be read that is served: it is lost once the store is loaded again. */
  readonly onDamagedEntry?: () => void;
}

/** Rows that are read or compared in one turn. */
const STEPS_AT_ONCE = 256;

/** A store in the SQLite storage of a Durable Object. */
export function createDurableObjectStore(
  database: SqlDatabase,
  options: DurableObjectStoreOptions,
): DurableObjectStore {
  return new DurableObjectStore(database, options);
}

/**
 * A store in the SQLite storage of a Durable Object: a row for each entry (small ones share rows), one for the cluster's state, one for its last
 * renewal. A delta writes the rows that it changes and the state, a full push those that differ, in one transaction.
 *
 * Rows, not bytes, are billed: of rows written 50 million a month are included and each further million is $1 (100,000 a day on the free plan); of
 * rows read 25 billion are included (Cloudflare, "Durable Objects pricing"). So a change of one endpoint costs two rows, and the first push of
 * 10,000 services 10,000 rows, which is one cent; a later one costs what differs.
 *
 * What `keep` has written is durable before the object's next response leaves it (its output gate).
 */
export class DurableObjectStore implements SnapshotStore {
  readonly #table: RowTable;
  readonly #warn: OnStoreWarning;
  readonly #mostCharacters: number;
  readonly #onDamagedEntry: () => void;
  readonly #readers = new Map<string, RowReader>();
  /** By cluster id, of those that are sound; known once they were read. */
  #states: Map<string, ClusterState> | undefined;
  #closed = false;

  constructor(
    database: SqlDatabase,
    {
      onWarning,
      mostCharacters = Number.POSITIVE_INFINITY,
      onDamagedEntry = () => {},
    }: DurableObjectStoreOptions,
  ) {
    this.#onDamagedEntry = onDamagedEntry;
    this.#table = new RowTable(database);
    this.#warn = onWarning;
    this.#mostCharacters = mostCharacters;
  }

  async *load(): AsyncGenerator<StoredCluster> {
    const states = this.#readStates();
    for (const [clusterId, state] of states) {
      try {
        await inTurns(this.#check(clusterId, state));
        state.version = ROWS_VERSION;
      } catch (error) {
        states.delete(clusterId);
        this.#report(clusterId, error);
        continue;
      }
      yield { clusterId, meta: state.meta };
    }
  }

  /** What is kept of each cluster, without its entries. Only the rows with the states are read. */
  metas(): ReadonlyMap<string, ClusterMeta> {
    const states = this.#states ?? this.#readStates();
    return new Map(Array.from(states, ([clusterId, { meta }]) => [clusterId, meta]));
  }

  entries(clusterId: string): RowReader {
    const reader = this.#readers.get(clusterId) ?? this.#openReader(clusterId);
    this.#readers.set(clusterId, reader);
    return reader;
  }

  async keep(clusterId: string, change: StoreChange): Promise<void> {
    this.#refuseUnlessOpen();
    if (!isClusterId(clusterId)) throw new RangeError(`"${clusterId}" is not a cluster id`);
    const states = this.#states ?? this.#readStates();
    const before = states.get(clusterId);
    const { meta } = change;
    if (change.kind !== "snapshot" && before === undefined) throw StoreError.noSnapshot(clusterId);
    if (change.kind === "lease") {
      this.#table.change(clusterId, [leaseRow(this.#table, clusterId, meta)]);
      states.set(clusterId, { ...before!, meta });
      return;
    }
    const isWhole = change.kind === "snapshot";
    const changes = isWhole
      ? await this.#replace(clusterId, change.lines)
      : this.#patch(clusterId, change.lines);
    const state = {
      meta,
      version: isWhole ? ROWS_VERSION : before!.version,
      parts: changes.parts + (isWhole ? 0 : before!.parts),
      characters: changes.characters + (isWhole ? 0 : before!.characters),
    };
    this.#checkSize(clusterId, state.characters);
    const rows = [...changes.written, stateRow(this.#table, clusterId, state)];
    this.#table.change(clusterId, rows, changes.removed);
    this.#readers.get(clusterId)?.forget();
    states.set(clusterId, state);
  }

  async remove(clusterId: string): Promise<void> {
    this.#refuseUnlessOpen();
    this.#table.remove(clusterId);
    this.#readers.delete(clusterId);
    this.#states?.delete(clusterId);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #replace(clusterId: string, lines: Iterable<PatchLine>): Promise<RowChanges> {
    return inTurns(replaceRows(this.#table, clusterId, lines, this.#table.names(clusterId, ...ENTRY_ROWS)));
  }

  #patch(clusterId: string, lines: Iterable<PatchLine>): RowChanges {
    try {
      return patchRows(this.#table, clusterId, lines);
    } catch (error) {
      if (!(error instanceof DamagedRow)) throw error;
      this.#states?.delete(clusterId);
      this.#report(clusterId, error);
      throw StoreError.noSnapshot(clusterId);
    }
  }

  #readStates(): Map<string, ClusterState> {
    const states = new Map<string, ClusterState>();
    for (const clusterId of this.#table.clusterIds())
      try {
        states.set(clusterId, readState(this.#table, clusterId));
      } catch (error) {
        this.#report(clusterId, error);
      }
    this.#states = states;
    return states;
  }

  /**
   * Reads all rows of a cluster, in steps, and holds some of them at a time: each has a checksum. Loading 100,000 endpoints of ten clusters takes 1.2 s of CPU
   * time, and 2.3 s with a validation, which rows of another version need.
   * @throws {DamagedRow} @throws {SnapshotError}
   */
  *#check(clusterId: string, { version, parts }: ClusterState): Generator<void> {
    const valid = version === ROWS_VERSION ? undefined : new RowValidator(clusterId);
    let found = 0;
    for (const row of this.#table.readAll(clusterId, ...ENTRY_ROWS)) {
      found += row.parts;
      valid?.take(row);
      yield;
    }
    valid?.end();
    if (found !== parts) throw new DamagedRow("rows are missing");
  }

  /** @throws {StoreError} STORE_FULL */
  #checkSize(clusterId: string, characters: number): void {
    let sum = characters;
    for (const [other, state] of this.#states!) if (other !== clusterId) sum += state.characters;
    if (sum <= this.#mostCharacters) return;
    throw new StoreError(
      "STORE_FULL",
      `with this push all snapshots would have ${sum} characters as JSON, which is more than ${this.#mostCharacters}`,
    );
  }

  #openReader(clusterId: string): RowReader {
    return new RowReader(this.#table, clusterId, (error) => {
      this.#report(clusterId, error);
      this.#onDamagedEntry();
    });
  }

  #report(clusterId: string, error: unknown): void {
    const message = `the snapshot is not loaded: ${messageOf(error)}`;
    this.#warn({ code: "CORRUPT_SNAPSHOT", clusterId, path: `cluster_rows/${clusterId}`, message });
  }

  #refuseUnlessOpen(): void {
    if (this.#closed) throw new StoreError("STORE_CLOSED", "the store is closed");
  }
}

/** Runs steps, and lets requests be answered between some of them: by count, since the clock of an object does not move between inputs. */
async function inTurns<Result>(steps: Generator<void, Result>): Promise<Result> {
  for (let count = 1; ; count++) {
    const step = steps.next();
    if (step.done) return step.value;
    if (count % STEPS_AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
}
