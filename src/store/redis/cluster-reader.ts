import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import type { SharedCluster, Sight } from "../shared/shared-log.ts";
import { messageOf, type OnStoreWarning, StoreError } from "../store-error.ts";
import { type ClusterRecord, readRecord } from "./cluster-record.ts";
import type { RedisConnection } from "./connection.ts";
import { fieldOf, lineOf, MARK } from "./fields.ts";
import type { LogKeys } from "./keys.ts";
import { readEntry, streamEntry } from "./log-entry.ts";
import type { Mark } from "./log-head.ts";
import { readSight, sightAfter } from "./sight-fields.ts";

/** About so many values, or entries of the log, are read together. */
const VALUES_AT_ONCE = 256;
const ENTRIES_AT_ONCE = 64;

/** What a read goes on from. */
interface Reading {
  readonly record: ClusterRecord;
  readonly sight: Sight | undefined;
  /** Which connection it was read over. */
  readonly made: number;
}

/** Reads clusters, each as it is at one position of the log, although changes come while it is read. */
export class ClusterReader {
  readonly #connection: RedisConnection;
  readonly #keys: LogKeys;
  readonly #warn: OnStoreWarning;
  readonly #see: (mark: Mark) => void;

  /** @param see is called with the newest entry of each state that was read */
  constructor(connection: RedisConnection, keys: LogKeys, warn: OnStoreWarning, see: (mark: Mark) => void) {
    this.#connection = connection;
    this.#keys = keys;
    this.#warn = warn;
    this.#see = see;
  }

  /** A cluster as it is now; undefined if nothing is known of it. Its lines are read when they are iterated. @throws {StoreError} */
  async read(clusterId: string): Promise<SharedCluster | undefined> {
    const { made } = this.#connection;
    let record = await this.#record(clusterId);
    if (record === undefined) return undefined;
    if (record.isDamaged) this.#damaged(clusterId, this.#keys.clusters, "its record cannot be read");
    let sight = await readSight(this.#connection, this.#keys, clusterId);
    const update = (now: ClusterRecord, ranks: Sight | undefined) => {
      record = now;
      sight = ranks;
    };
    const first = { record, sight, made };
    return {
      clusterId,
      lines: { [Symbol.asyncIterator]: () => this.#lines(clusterId, first, update) },
      get position() {
        return record!.position;
      },
      get id() {
        return record!.id;
      },
      get meta() {
        return record!.meta;
      },
      get gone() {
        return record!.gone;
      },
      get elapsed() {
        return record!.elapsed;
      },
      get sight() {
        return sight;
      },
    };
  }

  /**
   * All lines of a cluster. Where its state changed while they were read, the entries of the log since then say which values are read again; where they do not,
   * everything is. @param update gets each state that the lines are going to make
   */
  async *#lines(
    clusterId: string,
    { record, sight, made }: Reading,
    update: (record: ClusterRecord, sight: Sight | undefined) => void,
  ): AsyncGenerator<PatchLine> {
    const fields = new Set<string>();
    for (;;) {
      const { version } = record;
      const isMarked = version === undefined || (yield* this.#scan(clusterId, version, fields));
      for (;;) {
        const now = await this.#record(clusterId);
        if (made !== this.#connection.made) break;
        if (now?.id === record.id) {
          if (isMarked) return;
          throw this.#damaged(
            clusterId,
            this.#keys.entries(clusterId, version),
            "it is missing, or not whole",
          );
        }
        const since =
          now !== undefined && version !== undefined && now.version === version
            ? await this.#changesSince(clusterId, record, now.position)
            : undefined;
        if (since === undefined) break;
        record = now!;
        for (const change of since.sights) sight = sightAfter(sight, change);
        update(record, sight);
        yield* this.#values(clusterId, version!, [...since.fields], fields);
      }
      for (const field of fields) yield lineOf(field, null);
      fields.clear();
      made = this.#connection.made;
      const now = await this.#record(clusterId);
      if (now === undefined)
        throw new StoreError("STORE_FAILED", `cluster "${clusterId}" was lost while it was read`);
      record = now;
      sight = await readSight(this.#connection, this.#keys, clusterId);
      update(record, sight);
    }
  }

  /** @param fields gets those that were read @returns whether the mark is among them */
  async *#scan(clusterId: string, version: string, fields: Set<string>): AsyncGenerator<PatchLine, boolean> {
    const key = this.#keys.entries(clusterId, version);
    let cursor = "0";
    let isMarked = false;
    do {
      const found = await this.#connection.run((client) =>
        client.hScan(key, cursor, { COUNT: VALUES_AT_ONCE }),
      );
      cursor = found.cursor;
      for (const { field, value } of found.entries)
        if (field === MARK) isMarked = true;
        else yield* this.#line(clusterId, version, field, value, fields);
    } while (cursor !== "0");
    return isMarked;
  }

  /** Reads values again, some at a time. */
  async *#values(
    clusterId: string,
    version: string,
    changed: readonly string[],
    fields: Set<string>,
  ): AsyncGenerator<PatchLine> {
    const key = this.#keys.entries(clusterId, version);
    for (let from = 0; from < changed.length; from += VALUES_AT_ONCE) {
      const some = changed.slice(from, from + VALUES_AT_ONCE);
      const values = await this.#connection.run((client) => client.hmGet(key, some));
      for (const [index, field] of some.entries()) {
        const value = values[index];
        if (value != null) yield* this.#line(clusterId, version, field, value, fields);
        else if (fields.delete(field)) yield lineOf(field, null);
      }
    }
  }

  *#line(
    clusterId: string,
    version: string,
    field: string,
    text: string,
    fields: Set<string>,
  ): Generator<PatchLine> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw this.#damaged(clusterId, this.#keys.entries(clusterId, version), messageOf(error));
    }
    // A line merges; the value replaces what was read before.
    if (fields.has(field)) yield lineOf(field, null);
    fields.add(field);
    yield lineOf(field, value);
  }

  /** What changed between two positions; undefined where the log does not say. @param from the entry that it goes on from */
  async #changesSince(
    clusterId: string,
    from: Mark,
    to: number,
  ): Promise<{ readonly fields: ReadonlySet<string>; readonly sights: readonly Sight[] } | undefined> {
    const fields = new Set<string>();
    const sights: Sight[] = [];
    for (let position = from.position - 1; position < to; ) {
      const after = `(${position}-0`;
      const found = await this.#connection.run((client) =>
        client.xRange(this.#keys.log, after, `${to}-0`, { COUNT: ENTRIES_AT_ONCE }),
      );
      if (found === null || found.length === 0) return undefined;
      for (const message of found) {
        const stored = streamEntry(message);
        if (stored.position !== ++position) return undefined;
        if (position === from.position) {
          if (stored.id !== from.id) return undefined;
          continue;
        }
        try {
          const { entry } = readEntry(stored);
          if (entry.kind === "orders" || entry.clusterId !== clusterId) continue;
          if (entry.kind !== "lease" && entry.lines === undefined) return undefined;
          for (const line of entry.lines ?? []) fields.add(fieldOf(line));
          if (entry.sight !== undefined) sights.push(entry.sight);
        } catch {
          return undefined;
        }
      }
    }
    return { fields, sights };
  }

  async #record(clusterId: string): Promise<ClusterRecord | undefined> {
    const record = await readRecord(this.#connection, this.#keys, clusterId);
    if (record !== undefined) this.#see(record);
    return record;
  }

  /** Warns of a damaged cluster. @returns what its reader gets */
  #damaged(clusterId: string, path: string, why: string): StoreError {
    const message = `the snapshot is not loaded: ${why}`;
    this.#warn({ code: "CORRUPT_SNAPSHOT", clusterId, path, message });
    return new StoreError("NO_SNAPSHOT", message);
  }
}
