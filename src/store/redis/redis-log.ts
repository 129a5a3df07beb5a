import { randomBytes } from "node:crypto";
import { isClusterId } from "../../snapshot/cluster-id.ts";
import {
  type AddressOrders,
  BaseChanged,
  type LogDraft,
  type LogFollower,
  type SharedCluster,
  type SharedFacts,
  type SharedLog,
} from "../shared/shared-log.ts";
import { messageOf, type OnStoreWarning, StoreError } from "../store-error.ts";
import { readOrders } from "./address-orders.ts";
import { ClusterReader } from "./cluster-reader.ts";
import { leftText, readRecord, recordText } from "./cluster-record.ts";
import { type RedisAddress, RedisConnection } from "./connection.ts";
import { type ChangedValues, patchedValues, stageEntries } from "./entry-values.ts";
import { refuseEviction } from "./eviction.ts";
import { FORMAT_VERSION, LogKeys } from "./keys.ts";
import { entryText } from "./log-entry.ts";
import { type Mark, otherFormat, readHead } from "./log-head.ts";
import { APPEND, DECIDE, MOST_DECIDED } from "./log-scripts.ts";
import { LogTail } from "./log-tail.ts";
import { sightValues } from "./sight-fields.ts";

const NO_VALUES: ChangedValues = { set: [], removed: [], lines: [] };

/** A shared log in Valkey or Redis: a stream, and the state beside it, which one script changes together. */
export class RedisLog implements SharedLog {
  readonly #connection: RedisConnection;
  readonly #keys: LogKeys;
  readonly #warn: OnStoreWarning;
  readonly #reader: ClusterReader;
  readonly #tail: LogTail;
  /** Where the values of a cluster are, at its newest entry that is known. */
  readonly #versions = new Map<string, { readonly id: string; readonly version: string | undefined }>();
  #closed = false;

  private constructor(
    connection: RedisConnection,
    waiting: RedisConnection,
    keys: LogKeys,
    warn: OnStoreWarning,
  ) {
    this.#connection = connection;
    this.#keys = keys;
    this.#warn = warn;
    this.#tail = new LogTail(waiting, keys, {
      warn,
      load: () => this.load(),
      onVersion: (clusterId, id, version) => this.#applied(clusterId, id, version),
    });
    this.#reader = new ClusterReader(connection, keys, warn, (mark) => this.#tail.see(mark));
  }

  /**
   * Opens the log that is kept under a prefix, over two connections that `close` ends.
   * @throws {StoreError} STORE_FAILED if the engine cannot be reached, may evict keys, or has another format
   */
  static async open(address: RedisAddress, prefix: string, onWarning: OnStoreWarning): Promise<RedisLog> {
    const connection = await RedisConnection.open(address);
    try {
      await refuseEviction(connection);
      const keys = new LogKeys(prefix);
      await readHead(connection, keys, 0);
      return new RedisLog(connection, await RedisConnection.open(address), keys, onWarning);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async load(): Promise<{ readonly facts: SharedFacts; readonly clusters: AsyncIterable<SharedCluster> }> {
    this.#refuseUnlessOpen();
    const { position, id, founding } = await readHead(this.#connection, this.#keys, 0);
    this.#tail.begin({ position, id });
    const orders = await readOrders(this.#connection, this.#keys);
    return { facts: { founding, orders, position }, clusters: this.#clusters() };
  }

  stateOf(clusterId: string): Promise<SharedCluster | undefined> {
    this.#refuseUnlessOpen();
    return this.#reader.read(clusterId);
  }

  async append(draft: LogDraft): Promise<Mark> {
    this.#refuseUnlessOpen();
    const { clusterId, base, change } = draft;
    if (!isClusterId(clusterId)) throw new RangeError(`"${clusterId}" is not a cluster id`);
    const held = base === undefined ? undefined : await this.#versionAt(clusterId, base);
    if (change.kind !== "snapshot") {
      if (change.kind === "left") return this.#append(draft, held ?? "", held ?? "", NO_VALUES);
      if (held === undefined) throw await this.#nothingHeld(clusterId, base);
      const values = change.kind === "patch" ? await this.#patched(draft, held) : NO_VALUES;
      return this.#append(draft, held, held, values);
    }
    const version = randomBytes(9).toString("base64url");
    const entries = this.#keys.entries(clusterId, version);
    await stageEntries(this.#connection, entries, change.lines);
    try {
      return await this.#append(draft, version, held ?? version, NO_VALUES);
    } catch (error) {
      // The engine removes it by itself, somewhat later.
      if (error instanceof BaseChanged)
        await this.#connection.run((client) => client.unlink(entries)).catch(() => {});
      throw error;
    }
  }

  async decide(orders: AddressOrders, before: AddressOrders, position: number): Promise<void> {
    this.#refuseUnlessOpen();
    const { head, log, addresses, left } = this.#keys;
    const all = Object.keys(orders);
    const text = (order: readonly string[] | null | undefined) =>
      order == null ? "" : JSON.stringify(order);
    for (let from = 0; from < all.length; from += MOST_DECIDED) {
      const values = all
        .slice(from, from + MOST_DECIDED)
        .flatMap((address) => [address, text(before[address]), text(orders[address])]);
      const known = [FORMAT_VERSION, uniqueText(), String(position)];
      resultOf(await this.#connection.script(DECIDE, [head, log, left, addresses], [...known, ...values]));
    }
  }

  follow(position: number, follower: LogFollower): void {
    this.#tail.follow(position, follower);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tail.close();
    this.#connection.close();
  }

  /** @param version of the entries from now on @param before of those that the change replaces, or the same */
  async #append(draft: LogDraft, version: string, before: string, values: ChangedValues): Promise<Mark> {
    const { clusterId, base = "", change, sight, founding, mark: unique = uniqueText() } = draft;
    const keys = this.#keys;
    const ranks = sightValues(sight);
    const meta = "meta" in change ? change.meta : undefined;
    const after = meta === undefined ? undefined : version;
    const lists = [values.set, values.removed, ranks.set, ranks.removed];
    const reply = await this.#connection.script(
      APPEND,
      [
        ...[keys.head, keys.log, keys.left, keys.clusters, keys.sights(clusterId)],
        ...[keys.entries(clusterId, version), keys.entries(clusterId, before)],
      ],
      [
        ...[FORMAT_VERSION, unique, clusterId, base, change.kind],
        String(meta === undefined ? 0 : Math.max(0, Math.ceil(meta.expiresAt - meta.renewedAt))),
        recordPart(change, version),
        entryText(draft, after, change.kind === "patch" ? values.lines : undefined),
        founding === undefined ? "" : JSON.stringify(founding),
        ...lists.map(({ length }) => String(length)),
        sight?.isWhole ? "1" : "",
        ...lists.flat(),
      ],
    );
    const result = resultOf(reply);
    if (result === "changed")
      throw new BaseChanged(`cluster "${clusterId}" is not what the change builds on`);
    if (result === "missing") throw StoreError.noSnapshot(clusterId);
    if (!Array.isArray(result))
      throw new StoreError("STORE_FAILED", "Valkey or Redis has dropped what was pushed: it took too long");
    const [position, id] = result as [string, string];
    const mark = { position: Number(position), id };
    this.#versions.set(clusterId, { id, version: after });
    this.#tail.see(mark);
    return mark;
  }

  /** Where the values are that a change builds on; undefined for a cluster that went. @throws {BaseChanged} @throws {StoreError} */
  async #versionAt(clusterId: string, base: string): Promise<string | undefined> {
    const known = this.#versions.get(clusterId);
    if (known?.id === base) return known.version;
    const record = await readRecord(this.#connection, this.#keys, clusterId);
    if (record?.id !== base) throw new BaseChanged(`cluster "${clusterId}" is not at ${base}`);
    this.#versions.set(clusterId, { id: base, version: record.version });
    return record.version;
  }

  /** Takes over where the values are, unless this gateway has added a newer entry itself. */
  #applied(clusterId: string, id: string, version: string | undefined): void {
    const known = this.#versions.get(clusterId);
    if (known === undefined || Number.parseInt(known.id, 10) < Number.parseInt(id, 10))
      this.#versions.set(clusterId, { id, version });
  }

  /** What a change gets that needs a state, where its base has none. */
  async #nothingHeld(clusterId: string, base: string | undefined): Promise<Error> {
    const record = await readRecord(this.#connection, this.#keys, clusterId);
    if (record?.id === base) return StoreError.noSnapshot(clusterId);
    return new BaseChanged(`cluster "${clusterId}" is not what the change builds on`);
  }

  async #patched({ clusterId, base, change }: LogDraft, version: string): Promise<ChangedValues> {
    const entries = this.#keys.entries(clusterId, version);
    const lines = change.kind === "patch" ? change.lines : [];
    let why = "it is missing, or not whole";
    try {
      const at = { clusterId, version, base: base! };
      const values = await patchedValues(this.#connection, this.#keys, at, lines);
      if (values !== undefined) return values;
    } catch (error) {
      if (error instanceof StoreError) throw error;
      why = messageOf(error);
    }
    const nothing = await this.#nothingHeld(clusterId, base);
    if (nothing instanceof StoreError)
      this.#warn({
        code: "CORRUPT_SNAPSHOT",
        clusterId,
        path: entries,
        message: `no change is added: ${why}`,
      });
    throw nothing;
  }

  async *#clusters(): AsyncGenerator<SharedCluster> {
    for (const clusterId of await this.#connection.run((client) => client.hKeys(this.#keys.clusters))) {
      const cluster = await this.#reader.read(clusterId);
      if (cluster !== undefined) yield cluster;
    }
  }

  #refuseUnlessOpen(): void {
    if (this.#closed) throw new StoreError("STORE_CLOSED", "the store is closed");
  }
}

/** What the record of a cluster gets after a change. */
function recordPart(change: LogDraft["change"], version: string): string {
  if (change.kind === "left") return leftText(change.generation);
  return "meta" in change ? recordText(version, change.meta) : "";
}

/** What makes ids of entries different in logs that have the same positions. */
function uniqueText(): string {
  return randomBytes(9).toString("base64url");
}

/** @throws {StoreError} where the log has another format */
function resultOf(reply: unknown): unknown {
  if (typeof reply === "string" && reply.startsWith("format "))
    throw otherFormat(reply.slice("format ".length));
  return reply;
}
