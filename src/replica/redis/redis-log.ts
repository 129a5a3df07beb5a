import * as z from "zod";
import type { ChangedRows } from "../../database/row-change.ts";
import { StoreError } from "../../database/store-error.ts";
import { rowSumOf } from "../replicated-database.ts";
import type { LogDraft, LogEntry, LogHead, SharedCluster, SharedLog } from "../shared-log.ts";
import { type RedisAddress, RedisConnection } from "./connection.ts";
import { refuseEviction } from "./eviction.ts";
import { FORMAT_VERSION, LogKeys } from "./keys.ts";
import { membersText, readEntry, type StreamMessage } from "./log-entry.ts";
import { APPEND, HEAD, RENAME } from "./log-scripts.ts";
import { readRows, rowTexts } from "./row-text.ts";

/** Milliseconds that the engine waits for an entry: so often a gateway looks whether the log still has what it applied. */
const MOST_BLOCK = 1000;
/** Entries that are read together. */
const ENTRIES_AT_ONCE = 64;
/** Characters and values of rows in one entry: every gateway reads some dozens of entries at once, and Lua passes some thousand values. */
const MOST_CHARACTERS = 262_144;
const MOST_VALUES = 2000;
/** About so many characters of rows are sent together. */
const SENT_AT_ONCE = 131_072;
/** About so many rows, or values, are read together. */
const ROWS_AT_ONCE = 256;
/** Seconds after which the engine removes rows that did not come to count: those of a gateway that died. Each part that is sent begins them anew. */
const STAGED_FOR = 600;

const Head = z.tuple([
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
]);
/** What `APPEND` writes of a cluster. */
const RECORD = /^(\d+) \d+ (.*)$/s;

/** A shared log in Valkey or Redis: a stream, and the rows beside it, which one script changes together. */
export class RedisLog implements SharedLog {
  readonly #connection: RedisConnection;
  /** Waits for entries most of the time. */
  readonly #waiting: RedisConnection;
  readonly #keys: LogKeys;

  private constructor(connection: RedisConnection, waiting: RedisConnection, keys: LogKeys) {
    this.#connection = connection;
    this.#waiting = waiting;
    this.#keys = keys;
  }

  /**
   * Opens the log that is kept under a prefix, over two connections that `close` ends.
   * @throws {StoreError} STORE_FAILED if the engine cannot be reached, may evict keys, or has another format
   */
  static async open(address: RedisAddress, prefix: string): Promise<RedisLog> {
    const connection = await RedisConnection.open(address);
    try {
      await refuseEviction(connection);
      const log = new RedisLog(connection, await RedisConnection.open(address), new LogKeys(prefix));
      await log.head(0);
      return log;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async head(after: number): Promise<LogHead> {
    const { head, log } = this.#keys;
    const reply = Head.parse(await this.#connection.script(HEAD, [head, log], [String(after)]));
    const [format, name, position, id, founding, next, before, now] = reply;
    if (format !== "" && format !== FORMAT_VERSION) throw otherFormat(format);
    return {
      log: name,
      position: Number(position),
      id,
      founding: founding === "" ? undefined : founding,
      next: next === "" ? undefined : { position: Number.parseInt(next, 10), before },
      now: Number(now),
      session: this.#connection.made + this.#waiting.made,
    };
  }

  async append({ id, log, base, change, lease }: LogDraft): Promise<number | "changed" | "other"> {
    const { cluster, kind, isCleared, founding = "" } = change;
    const keys = this.#keys;
    const values = [membersText(change), ...rowTexts(change)];
    const characters = values.reduce((sum, { length }) => sum + length, 0);
    const isLarge = characters > MOST_CHARACTERS || values.length > MOST_VALUES;
    const staged = keys.change(id);
    if (isLarge) await this.#stage(staged, values);
    const reply = await this.#connection.script(
      APPEND,
      [keys.head, keys.log, keys.clusters, keys.rows(cluster.id), staged],
      [
        FORMAT_VERSION,
        log,
        id,
        cluster.id,
        String(base),
        String(rowSumOf(cluster)),
        JSON.stringify(cluster),
        kind === "expiry" ? kind : "",
        String(Math.ceil(lease)),
        isCleared ? "1" : "",
        founding,
        String(isLarge ? 0 : characters),
        String(isLarge ? values.length : 0),
        ...(isLarge ? ["staged", String(values.length)] : ["change", ...values]),
      ],
    );
    if (typeof reply === "number") return reply;
    // The engine removes it by itself, somewhat later.
    if (isLarge) await this.#connection.run((client) => client.unlink(staged)).catch(() => {});
    if (reply === "changed" || reply === "other") return reply;
    if (reply === "unstaged")
      throw new StoreError("STORE_FAILED", "Valkey or Redis has dropped what was pushed: it took too long");
    throw otherFormat(String(reply).slice("format ".length));
  }

  async entries(after: number): Promise<LogEntry[]> {
    const stream = { key: this.#keys.log, id: `${after}-0` };
    const options = { BLOCK: MOST_BLOCK, COUNT: ENTRIES_AT_ONCE };
    const reply = await this.#waiting.run((client) => client.xRead(stream, options));
    const [found] = (reply ?? []) as { readonly messages: readonly StreamMessage[] }[];
    const entries: LogEntry[] = [];
    for (const message of found?.messages ?? [])
      entries.push(await readEntry(message, (id, count) => this.#staged(id, count)));
    return entries;
  }

  async clusters(): Promise<SharedCluster[]> {
    const records = await this.#connection.run((client) => client.hGetAll(this.#keys.clusters));
    return Object.entries(records).map(([id, record]) => {
      const [, sum = "0", text = ""] = RECORD.exec(record) ?? [];
      return { id, sum: Number(sum), text };
    });
  }

  async *rows(cluster: string): AsyncGenerator<ChangedRows> {
    let cursor = "0";
    do {
      const found = await this.#connection.run((client) =>
        client.hScan(this.#keys.rows(cluster), cursor, { COUNT: ROWS_AT_ONCE }),
      );
      cursor = found.cursor;
      yield readRows(
        cluster,
        found.entries.map(({ field, value }) => [field, value] as const),
      );
    } while (cursor !== "0");
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#connection.script(RENAME, [this.#keys.head], [from, to]);
  }

  close(): void {
    this.#waiting.close();
    this.#connection.close();
  }

  /** Sends rows where they do not count yet. */
  async #stage(key: string, rows: readonly string[]): Promise<void> {
    for (let from = 0; from < rows.length; ) {
      let to = from;
      for (let characters = 0; to < rows.length && to - from < MOST_VALUES && characters < SENT_AT_ONCE; to++)
        characters += rows[to]!.length;
      const sent = rows.slice(from, to);
      await this.#connection.run((client) =>
        Promise.all([client.rPush(key, sent), client.expire(key, STAGED_FOR)]),
      );
      from = to;
    }
  }

  async #staged(id: string, count: number): Promise<string[]> {
    const values: string[] = [];
    for (let from = 0; from < count; from += ROWS_AT_ONCE)
      values.push(
        ...(await this.#waiting.run((client) =>
          client.lRange(this.#keys.change(id), from, from + ROWS_AT_ONCE - 1),
        )),
      );
    return values;
  }
}

/** What a release gets that does not know the format of what is kept. */
function otherFormat(format: string): StoreError {
  return new StoreError(
    "STORE_FAILED",
    `what is kept there has the format version ${format}, and this release reads ${FORMAT_VERSION}: choose another prefix (store.prefix), or the release that wrote it`,
  );
}
