import * as z from "zod";
import { rowSum } from "../database/reader.ts";
import type { ChangedRows, ClaimRow, PartRow, RowChange } from "../database/row-change.ts";
import { StoreError } from "../database/store-error.ts";
import type { RedisAddress } from "./redis-address.ts";
import { RedisConnection } from "./redis-connection.ts";
import { script } from "./redis-servers.ts";
import { rowSumOf } from "./replicated-database.ts";
import type { LogDraft, LogEntry, LogHead, SharedCluster, SharedLog, WholeCluster } from "./shared-log.ts";
import { ENTRIES_AT_ONCE } from "./shared-log.ts";

/**
 * Milliseconds that the engine waits for an entry: so often a gateway looks whether the log still has what it
 * applied.
 */
const MOST_BLOCK = 1000;
/**
 * Characters and values of rows in one entry: every gateway reads some dozens of entries at once, and Lua
 * passes some thousand values.
 */
const MOST_CHARACTERS = 262_144;
const MOST_VALUES = 2000;
/** About so many characters of rows are sent together. */
const SENT_AT_ONCE = 131_072;
/** About so many rows, or values, are read together. */
const ROWS_AT_ONCE = 256;
/**
 * Seconds after which the engine removes rows that did not come to count: those of a gateway that died. Each
 * part that is sent begins them anew.
 */
const STAGED_FOR = 600;

const Whole = z.tuple([z.string()], z.array(z.string()));
const Head = z.array(z.string()).length(8);
/** What `APPEND` writes of a cluster. */
const RECORD = /^(\d+) \d+ (.*)$/s;

/** A shared log in Valkey or Redis: a stream, and the rows beside it, which one script changes together. */
export class RedisLog implements SharedLog {
  readonly #connection: RedisConnection;
  /** Waits for entries most of the time. */
  readonly #waiting: RedisConnection;
  readonly #keys: ReturnType<typeof keysBelow>;

  private constructor(
    connection: RedisConnection,
    waiting: RedisConnection,
    keys: ReturnType<typeof keysBelow>,
  ) {
    this.#connection = connection;
    this.#waiting = waiting;
    this.#keys = keys;
  }

  /**
   * Opens the log that is kept under a prefix, over two connections that `close` ends.
   * @throws {StoreError} STORE_FAILED if the engine cannot be reached, or may evict keys
   */
  static async open(address: RedisAddress, prefix: string): Promise<RedisLog> {
    const connection = await RedisConnection.open(address);
    try {
      return new RedisLog(connection, await RedisConnection.open(address), keysBelow(prefix));
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async head(after: number): Promise<LogHead> {
    const { head, log } = this.#keys;
    const reply = Head.parse(await this.#connection.script(HEAD, [head, log], [String(after)]));
    const [format, name = "", position, id = "", founding, next = "", before = "", now] = reply;
    if (format !== "" && format !== FORMAT_VERSION) throw otherFormat(format!);
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
    let position: number | undefined;
    try {
      let lists: string[] = [];
      if (isLarge) {
        // As long as the cluster's row is the one that the change builds on, it has no other lists.
        const kept = await this.#connection.run((client) => client.hGet(keys.head, listsOf(cluster.id)));
        lists = [id, ...(kept?.split(" ") ?? [])];
        await this.#stage(staged, values);
      }
      const reply = await this.#connection.script(
        APPEND,
        [
          keys.head,
          keys.log,
          keys.clusters,
          keys.rows(cluster.id),
          staged,
          keys.change(lists[MOST_LISTS] ?? ""),
        ],
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
          lists.slice(0, MOST_LISTS).join(" "),
          ...(isLarge ? ["staged", String(values.length)] : ["change", ...values]),
        ],
      );
      if (reply === "changed" || reply === "other") return reply;
      if (reply === "unstaged")
        throw new StoreError("STORE_FAILED", "Valkey or Redis has dropped what was pushed: it took too long");
      if (typeof reply !== "number") throw otherFormat(String(reply).slice("format ".length));
      position = reply;
      return position;
    } finally {
      // Where that fails, too, the engine removes it by itself, somewhat later.
      if (isLarge && position === undefined)
        await this.#connection.run((client) => client.unlink(staged)).catch(() => {});
    }
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
    return Object.entries(records).map(([id, record]) => readRecord(id, record));
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

  async whole(clusters: readonly string[]): Promise<{ position: number; clusters: WholeCluster[] }> {
    const keys = [this.#keys.head, this.#keys.clusters, ...clusters.map(this.#keys.rows)];
    const reply = await this.#connection.script(WHOLE, keys, [...clusters]);
    const [position, ...found] = Whole.parse(reply);
    const whole = clusters.map((id, at) => {
      const [record, ...fields] = found[at]!;
      return { ...readRecord(id, record!), rows: readRows(id, pairs(fields)) };
    });
    return { position: Number(position), clusters: whole };
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

/**
 * Entries that the log has, about: a gateway that was away for longer loads everything. One change a second
 * for hours, or a burst of renewals and small changes of all clusters; loading is cheaper than applying more.
 */
const MOST_ENTRIES = 10_000;
/**
 * Bytes of entries after which those before the last such mark are trimmed: the log never has more than twice
 * as many, and one entry.
 */
const MOST_BYTES = 32 * 1024 * 1024;
/**
 * Seconds for which rows of a large change are there after its entry: a gateway that comes later loads
 * everything.
 */
const KEPT_FOR = 120;
/** Large changes of one cluster whose rows are there, so that no cluster fills the memory. */
const MOST_LISTS = 4;

const NOW = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`;

/**
 * Adds a change of a cluster: keys `head`, `log`, `clusters`, the cluster's rows, rows of a large change,
 * those of the cluster's oldest large change, which go. Values: format, name of the log, id of the entry,
 * cluster id, sum of the row that it builds on (0 for none), the row's sum and text afterwards, `expiry` for
 * a lease that has to have ended (or nothing), milliseconds until the lease ends, `1` where all rows go first
 * (or nothing), founding day (or nothing), bytes of the entry, how many values are in the list (see
 * `readEntry`), the ids of the cluster's newest large changes afterwards, and fields and values of the entry
 * in turns: the first pair is `change` or `staged`, others are rows. An empty value removes a row. Returns
 * the position; `changed` where it builds on another row, or the lease has not ended; `other` where the log
 * has another name; `unstaged` where the list is not there; `format <version>`. Then nothing is changed.
 */
const APPEND = script(`
local head = redis.call('HMGET', KEYS[1], 'format', 'log', 'position', 'id', 'founding', 'bytes', 'mark')
if head[1] and head[1] ~= ARGV[1] then return 'format ' .. head[1] end
if head[2] and head[2] ~= ARGV[2] then return 'other' end
local sum, ends = string.match(redis.call('HGET', KEYS[3], ARGV[4]) or '', '^(%d+) (%d+) ')
if tonumber(sum or '0') ~= tonumber(ARGV[5]) then return 'changed' end
${NOW}
if ARGV[8] ~= '' then
  if now < tonumber(ends or '0') then return 'changed' end
else
  ends = string.format('%.0f', now + tonumber(ARGV[9]))
end
local staged = tonumber(ARGV[13])
if redis.call('LLEN', KEYS[5]) ~= staged then return 'unstaged' end
if not head[3] then redis.call('DEL', KEYS[2]) end
local position = string.format('%.0f', tonumber(head[3] or '0') + 1)
local rows = {}
for at = 17, #ARGV do rows[#rows + 1] = ARGV[at] end
-- First of all that is written: where memory is short it fails, and nothing is changed.
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ${MOST_ENTRIES}, position .. '-0', 'id', ARGV[3], 'before', head[4] or '', 'cluster', ARGV[4], ARGV[15], ARGV[16], unpack(rows))
local function put(values)
  local set, removed = {}, {}
  for at = 1, #values, 2 do
    if values[at + 1] == '' then
      removed[#removed + 1] = values[at]
    else
      set[#set + 1] = values[at]
      set[#set + 1] = values[at + 1]
    end
  end
  if #set > 0 then redis.call('HSET', KEYS[4], unpack(set)) end
  if #removed > 0 then redis.call('HDEL', KEYS[4], unpack(removed)) end
end
if ARGV[10] ~= '' then redis.call('UNLINK', KEYS[4]) end
put(rows)
for from = 1, staged - 1, 2000 do put(redis.call('LRANGE', KEYS[5], from, from + 1999)) end
if staged > 0 then
  redis.call('EXPIRE', KEYS[5], ${KEPT_FOR})
  redis.call('UNLINK', KEYS[6])
  redis.call('HSET', KEYS[1], '${listsOf("")}' .. ARGV[4], ARGV[14])
end
redis.call('HSET', KEYS[3], ARGV[4], ARGV[6] .. ' ' .. ends .. ' ' .. ARGV[7])
local bytes = tonumber(head[6] or '0') + tonumber(ARGV[12])
local fields = {'format', ARGV[1], 'log', ARGV[2], 'position', position, 'id', ARGV[3]}
if ARGV[11] ~= '' and not string.find(head[5] or '', '"over":true', 1, true) then
  fields[#fields + 1] = 'founding'
  fields[#fields + 1] = ARGV[11]
end
if bytes > ${MOST_BYTES} then
  if head[7] then redis.call('XTRIM', KEYS[2], 'MINID', head[7] .. '-0') end
  bytes = 0
  fields[#fields + 1] = 'mark'
  fields[#fields + 1] = position
end
fields[#fields + 1] = 'bytes'
fields[#fields + 1] = string.format('%.0f', bytes)
redis.call('HSET', KEYS[1], unpack(fields))
return tonumber(position)
`);

/**
 * Reads where the log is: keys `head`, `log`; value a position. Returns format, name, position and id of the
 * newest entry, founding day, position and predecessor of the first entry after the given position, each
 * empty where there is none; and the engine's time in milliseconds.
 */
export const HEAD = script(`
local head = redis.call('HMGET', KEYS[1], 'format', 'log', 'position', 'id', 'founding')
local next = redis.call('XRANGE', KEYS[2], '(' .. ARGV[1] .. '-0', '+', 'COUNT', 1)[1]
${NOW}
return {head[1] or '', head[2] or '', head[3] or '0', head[4] or '', head[5] or '', next and next[1] or '', next and next[2][4] or '', string.format('%.0f', now)}
`);

/**
 * Reads clusters at once: keys `head`, `clusters`, and the rows of each cluster; values the clusters' ids.
 * Returns the position of the newest entry, and of each cluster what `clusters` has of it, with fields and
 * values of its rows in turns.
 */
const WHOLE = script(`
local reply = {redis.call('HGET', KEYS[1], 'position') or '0'}
for at = 3, #KEYS do
  local cluster = redis.call('HGETALL', KEYS[at])
  table.insert(cluster, 1, redis.call('HGET', KEYS[2], ARGV[at - 2]) or '')
  reply[#reply + 1] = cluster
end
return reply
`);

/** Gives the log another name: key `head`; values its name, and the new one. */
const RENAME = script(`
if redis.call('HGET', KEYS[1], 'log') == ARGV[1] then redis.call('HSET', KEYS[1], 'log', ARGV[2]) end
return 'done'
`);

/** An entry of a stream, as the client has it. */
interface StreamMessage {
  readonly id: string;
  readonly message: unknown;
}

/** What an entry has beside rows. */
type Members = Pick<RowChange, "kind" | "cluster" | "isCleared" | "keys" | "isWide" | "ranked" | "founding">;

/** The text of an entry beside its rows. */
function membersText({ kind, cluster, isCleared, keys, isWide, ranked, founding }: RowChange): string {
  const members: Members = { kind, cluster, isCleared, keys, isWide, ranked, founding };
  return JSON.stringify(members);
}

/**
 * Reads an entry: the fields `id`, `before`, `cluster`, `change`, and those of rows; or `staged` with the
 * number of values in a list, the text of `change` first and then fields and values of rows in turns.
 * @param readStaged reads such a list
 */
async function readEntry(
  { id: streamId, message }: StreamMessage,
  readStaged: (id: string, count: number) => Promise<string[]>,
): Promise<LogEntry> {
  const {
    id = "",
    before = "",
    cluster = "",
    change,
    staged,
    ...fields
  } = message as Record<string, string | undefined>;
  const mark = { position: Number.parseInt(streamId, 10), id, before, cluster };
  const values = staged === undefined ? undefined : await readStaged(id, Number(staged));
  if (values !== undefined && values.length !== Number(staged)) return { ...mark, change: undefined };
  const rows = values === undefined ? Object.entries(fields as Record<string, string>) : pairs(values, 1);
  try {
    const members = JSON.parse((values === undefined ? change : values[0]) ?? "") as Members;
    return { ...mark, change: { ...members, ...readRows(members.cluster.id, rows) } };
  } catch {
    return { ...mark, change: undefined };
  }
}

/** Reads what `clusters` has of a cluster. */
function readRecord(id: string, record: string): SharedCluster {
  const [, sum = "0", text = ""] = RECORD.exec(record) ?? [];
  return { id, sum: Number(sum), text };
}

/** @param from the first field */
function* pairs(values: readonly string[], from = 0): Generator<readonly [string, string]> {
  for (let at = from; at + 1 < values.length; at += 2) yield [values[at]!, values[at + 1]!];
}

type Gone = Pick<PartRow, "kind" | "name" | "part">;

const ENTRY = /^e(\d) (\d+) (.*)$/s;
const CLAIM = /^c (.*)$/s;
const PART = /^(-?\d+|-) (-?\d+|-) ([^\n]*)\n(.*)$/s;

/**
 * Rows as fields of a hash, fields and values in turns: `e<kind> <part> <name>` with the rank, the key, a
 * line feed and the text; `c <bucket>` with the text of a claim. An empty value is that of a row that goes.
 */
function rowTexts({ entries, gone, claims }: ChangedRows): string[] {
  const texts: string[] = [];
  for (const { kind, part, name, reported, counts, key, text } of entries)
    texts.push(`e${kind} ${part} ${name}`, `${reported ?? "-"} ${counts ?? "-"} ${key}\n${text}`);
  for (const { kind, part, name } of gone) texts.push(`e${kind} ${part} ${name}`, "");
  for (const { bucket, text } of claims) texts.push(`c ${bucket}`, text);
  return texts;
}

/**
 * Reads such fields. Those that are no rows are left out: the sum of the cluster's rows shows that some are
 * missing.
 */
function readRows(cluster: string, fields: Iterable<readonly [field: string, value: string]>) {
  const rows = { entries: [] as PartRow[], gone: [] as Gone[], claims: [] as ClaimRow[] };
  for (const [field, value] of fields) {
    const [, kind, part, name] = ENTRY.exec(field) ?? [];
    const [, bucket] = CLAIM.exec(field) ?? [];
    if (bucket !== undefined) rows.claims.push({ bucket, text: value });
    else if (name !== undefined) {
      const place = { kind: Number(kind) as PartRow["kind"], name, part: Number(part) };
      const [, reported, counts, key, text] = PART.exec(value) ?? [];
      if (value === "") rows.gone.push(place);
      else if (text !== undefined) {
        const row = { ...place, key: key!, reported: rank(reported!), counts: rank(counts!), text };
        rows.entries.push({ ...row, sum: rowSum({ ...row, cluster }) });
      }
    }
  }
  return rows;
}

function rank(text: string): number | null {
  return text === "-" ? null : Number(text);
}

/** The version of what is kept in the engine. Another one is neither read nor written. */
const FORMAT_VERSION = "3";

/** The field of `head` with the ids of a cluster's newest large changes, the newest one first. */
function listsOf(cluster: string): string {
  return `lists ${cluster}`;
}

/** The names of all keys. The braces are a hash tag: in a cluster of the engine one node has all of them. */
function keysBelow(prefix: string) {
  const below = `{${prefix}}`;
  return {
    /**
     * A hash: `format`, the name of the `log`, `position` and `id` of the newest entry, `founding`, for
     * trimming `bytes` and `mark`, and see `listsOf`.
     */
    head: `${below}:head`,
    /** A stream: an entry at each position. */
    log: `${below}:log`,
    /** A hash: by cluster id the sum of its row, when its lease ends by the engine's clock, and the row. */
    clusters: `${below}:clusters`,
    /** A hash: the rows of a cluster, see `rowTexts`. */
    rows: (cluster: string) => `${below}:rows:${cluster}`,
    /** A list: rows of a change that are too large for its entry, fields and values in turns. */
    change: (id: string) => `${below}:change:${id}`,
  };
}
