import { setTimeout } from "node:timers/promises";
import type { LogFollower, SharedLog } from "../shared/shared-log.ts";
import { messageOf, type OnStoreWarning } from "../store-error.ts";
import type { RedisConnection } from "./connection.ts";
import type { LogKeys } from "./keys.ts";
import { readEntry, type StreamEntry, streamEntry } from "./log-entry.ts";
import { type Mark, readHead } from "./log-head.ts";

/** Milliseconds that the engine waits for an entry: so often it is asked whether it still has what was applied, and a connection shows that it is not half open. */
const MOST_BLOCK = 1000;
/** Entries that are read together: each has 256 KiB at most. */
const ENTRIES_AT_ONCE = 64;
/** The pauses between attempts while the log cannot be read, in milliseconds. */
const SHORTEST_PAUSE = 50;
const LONGEST_PAUSE = 1000;

/** Reads a log from a position on, over a connection of its own, which waits most of the time. */
export class LogTail {
  readonly #connection: RedisConnection;
  readonly #keys: LogKeys;
  readonly #load: SharedLog["load"];
  readonly #onVersion: (clusterId: string, id: string, version: string | undefined) => void;
  readonly #warn: OnStoreWarning;
  readonly #closing = new AbortController();
  /** The newest entry that was applied. */
  #applied: Mark = { position: 0, id: "" };
  /** Ids of later entries that this gateway wrote, or read with the state of their clusters, by position: the engine must have each of them when it comes. */
  readonly #seen = new Map<number, string>();
  #mustReload = false;
  #isLost = false;
  /** Why the log cannot be read, as the follower was told; undefined while it can. */
  #reason: string | undefined;

  /** @param onVersion gets of each applied entry where the values of its cluster are */
  constructor(
    connection: RedisConnection,
    keys: LogKeys,
    {
      load,
      onVersion,
      warn,
    }: {
      readonly load: SharedLog["load"];
      readonly onVersion: (clusterId: string, id: string, version: string | undefined) => void;
      readonly warn: OnStoreWarning;
    },
  ) {
    this.#connection = connection;
    this.#keys = keys;
    this.#load = load;
    this.#onVersion = onVersion;
    this.#warn = warn;
  }

  /** Everything up to an entry is loaded. */
  begin(mark: Mark): void {
    this.#applied = mark;
    this.#seen.clear();
  }

  /** The engine had this entry: if it has not any more, it lost some. */
  see({ position, id }: Mark): void {
    if (position <= this.#applied.position) return;
    if ((this.#seen.get(position) ?? id) !== id) this.#lose();
    this.#seen.set(position, id);
  }

  /** Follows until `close`. @throws {RangeError} for a position that is not what was loaded */
  follow(position: number, follower: LogFollower): void {
    if (position !== this.#applied.position) throw new RangeError(`position ${position} was not loaded`);
    void this.#run(follower);
  }

  close(): void {
    this.#closing.abort();
    this.#connection.close();
  }

  async #run(follower: LogFollower): Promise<void> {
    const { signal } = this.#closing;
    let failures = 0;
    let isChecked = false;
    while (!signal.aborted)
      try {
        if (!isChecked) await this.#check();
        if (this.#mustReload) await this.#reload(follower);
        if (signal.aborted) return;
        this.#say(follower, undefined);
        failures = 0;
        const entries = await this.#read();
        isChecked = entries.length > 0;
        for (const entry of entries) {
          if (signal.aborted) return;
          isChecked = await this.#apply(entry, follower);
          if (!isChecked) break;
        }
      } catch (error) {
        isChecked = false;
        if (signal.aborted) return;
        this.#say(follower, messageOf(error));
        const pause = Math.min(SHORTEST_PAUSE * 2 ** Math.min(failures++, 10), LONGEST_PAUSE);
        await setTimeout(pause * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
      }
  }

  /** Finds out whether the log goes on from what was applied. */
  async #check(): Promise<void> {
    // What is seen while the engine replies may be newer than the reply.
    const newest = Math.max(this.#applied.position, ...this.#seen.keys());
    const seen = this.#seen.get(newest) ?? this.#applied.id;
    const { position, id, next } = await readHead(this.#connection, this.#keys, this.#applied.position);
    if (position < newest || (position === newest && id !== seen)) this.#lose();
    else if (position > this.#applied.position) {
      if (next?.position !== this.#applied.position + 1) this.#mustReload = true;
      else if (next.before !== this.#applied.id) this.#lose();
    }
  }

  #lose(): void {
    this.#mustReload = true;
    this.#isLost = true;
  }

  async #reload(follower: LogFollower): Promise<void> {
    const { clusters, facts } = await this.#load();
    await follower.reload(clusters, facts, this.#isLost);
    this.#mustReload = false;
    this.#isLost = false;
  }

  async #read(): Promise<StreamEntry[]> {
    const stream = { key: this.#keys.log, id: `${this.#applied.position}-0` };
    const options = { BLOCK: MOST_BLOCK, COUNT: ENTRIES_AT_ONCE };
    const reply = await this.#connection.run((client) => client.xRead(stream, options));
    const streams = reply as { messages: Parameters<typeof streamEntry>[0][] }[] | null;
    return (streams?.[0]?.messages ?? []).map(streamEntry);
  }

  /** @returns false where the log does not go on with this entry */
  async #apply(stored: StreamEntry, follower: LogFollower): Promise<boolean> {
    const { position, id, before } = stored;
    if (position !== this.#applied.position + 1 || before !== this.#applied.id) return false;
    if ((this.#seen.get(position) ?? id) !== id) {
      this.#lose();
      return false;
    }
    let read: ReturnType<typeof readEntry>;
    try {
      read = readEntry(stored);
    } catch (error) {
      const message = `entry ${position} of the log cannot be read, and everything is loaded again: ${messageOf(error)}`;
      this.#warn({ code: "CORRUPT_JOURNAL", clusterId: "", path: this.#keys.log, message });
      this.#mustReload = true;
      return false;
    }
    const { entry, version } = read;
    if (entry.kind !== "orders") this.#onVersion(entry.clusterId, entry.id, version);
    await follower.apply(entry);
    this.#applied = { position, id };
    this.#seen.delete(position);
    return true;
  }

  #say(follower: LogFollower, reason: string | undefined): void {
    if (this.#reason === reason) return;
    this.#reason = reason;
    follower.connection(reason);
  }
}
