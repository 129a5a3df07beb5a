import * as z from "zod";
import { isClusterId } from "../../snapshot/cluster-id.ts";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import { ClusterMeta } from "../cluster-meta.ts";
import { inTurns } from "../files/turn.ts";
import { mergeInPlace, SnapshotDraft } from "../snapshot-draft.ts";
import type { SnapshotStore, StoreChange, StoredCluster } from "../store.ts";
import { messageOf, type OnStoreWarning, StoreError } from "../store-error.ts";
import { fieldOf, lineOf, MARK } from "./fields.ts";
import type { RedisWriter } from "./redis-writer.ts";
import { CHANGE } from "./scripts.ts";

/** About so many characters of entries are sent together. */
const MOST_CHARACTERS = 131_072;
/** About so many entries are read together. */
const ENTRIES_AT_ONCE = 512;

const State = z.strictObject({
  meta: ClusterMeta,
  /** The key of the entries ends with it: a full push writes others, and changes to them at once. */
  version: z.string(),
});
type State = z.infer<typeof State>;

/** What the engine has of a cluster, as text: a change is carried out only on the state that it builds on. */
interface Known {
  readonly text: string;
  readonly version: string;
}

/**
 * A store in Valkey or Redis. Each cluster has a hash with a value for each entry, and a state; a delta changes both in one script, which compares the state first.
 * So a change whose reply was lost, or that the engine lost, is never built on: the cluster's worker pushes in full.
 */
export class RedisStore implements SnapshotStore {
  readonly #writer: RedisWriter;
  readonly #warn: OnStoreWarning;
  readonly #known = new Map<string, Known>();
  #versions = 0;
  #closed = false;

  constructor(writer: RedisWriter, onWarning: OnStoreWarning) {
    this.#writer = writer;
    this.#warn = onWarning;
  }

  async *load(): AsyncGenerator<StoredCluster> {
    await this.#removeStaged();
    const { connection, keys } = this.#writer;
    const states = await connection.run((client) => client.hGetAll(keys.clusters));
    this.#known.clear();
    for (const [clusterId, text] of Object.entries(states)) {
      let cluster: StoredCluster;
      try {
        const { meta, version } = State.parse(JSON.parse(text));
        cluster = { clusterId, meta, snapshot: await this.#read(clusterId, version) };
        this.#known.set(clusterId, { text, version });
      } catch (error) {
        if (error instanceof StoreError) throw error;
        const message = `the snapshot is not loaded: ${messageOf(error)}`;
        this.#warn({ code: "CORRUPT_SNAPSHOT", clusterId, path: keys.clusters, message });
        continue;
      }
      yield cluster;
    }
  }

  async keep(clusterId: string, change: StoreChange): Promise<void> {
    this.#refuseUnlessOpen();
    if (!isClusterId(clusterId)) throw new RangeError(`"${clusterId}" is not a cluster id`);
    if (change.kind === "snapshot") return this.#replace(clusterId, change);
    const known = this.#known.get(clusterId);
    if (known === undefined) throw StoreError.noSnapshot(clusterId);
    const { keys } = this.#writer;
    const entries = keys.entries(clusterId, known.version);
    const values = change.kind === "patch" ? await this.#patched(entries, change.lines) : NO_VALUES;
    const after = { meta: change.meta, version: known.version };
    if (await this.#change(clusterId, known.text, after, [entries], values)) return;
    this.#known.delete(clusterId);
    throw StoreError.noSnapshot(clusterId);
  }

  async remove(clusterId: string): Promise<void> {
    this.#refuseUnlessOpen();
    // A removal that is late must not hit what was pushed since.
    await this.#withState(clusterId, (before, version) => {
      if (version === undefined) return Promise.resolve(true);
      const entries = this.#writer.keys.entries(clusterId, version);
      return this.#change(clusterId, before, undefined, [entries, entries], NO_VALUES);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#writer.connection.close();
  }

  async #replace(
    clusterId: string,
    { lines, meta }: Extract<StoreChange, { kind: "snapshot" }>,
  ): Promise<void> {
    const { connection, keys, number } = this.#writer;
    const version = `${number}-${++this.#versions}`;
    const entries = keys.entries(clusterId, version);
    // If this fails, the entries are removed at the next start, and not here: the last script may be carried out yet.
    await connection.run((client) => client.sAdd(keys.staged, entries));
    await this.#stage(entries, lines);
    await this.#withState(clusterId, (before, old) => {
      const replaced = old === undefined ? [] : [keys.entries(clusterId, old)];
      const mark = { set: [[MARK, ""] as const], removed: [] };
      return this.#change(clusterId, before, { meta, version }, [entries, ...replaced], mark);
    });
  }

  /** Writes the entries of a whole state where they do not count yet. Lines of one entry come one after the other. */
  async #stage(entries: string, lines: Iterable<PatchLine>): Promise<void> {
    const { connection } = this.#writer;
    let values: Record<string, string> = {};
    let characters = 0;
    let open: { readonly field: string; value: unknown } | undefined;
    const put = ({ field, value }: { readonly field: string; readonly value: unknown }) => {
      const text = JSON.stringify(value);
      values[field] = text;
      characters += field.length + text.length;
    };
    const send = async () => {
      const sent = values;
      values = {};
      characters = 0;
      if (Object.keys(sent).length > 0) await connection.run((client) => client.hSet(entries, sent));
    };
    for (const line of lines) {
      const field = fieldOf(line);
      if (open?.field !== field) {
        if (open !== undefined) put(open);
        if (characters >= MOST_CHARACTERS) await send();
        open = { field, value: undefined };
      }
      open.value = mergeInPlace(open.value, line.at(-1));
    }
    if (open !== undefined) put(open);
    await send();
  }

  /** The values that change with a delta, as they become. */
  async #patched(entries: string, lines: Iterable<PatchLine>): Promise<Values> {
    const patches = new Map<string, unknown[]>();
    for (const line of lines) {
      const field = fieldOf(line);
      const known = patches.get(field);
      if (known === undefined) patches.set(field, [line.at(-1)]);
      else known.push(line.at(-1));
    }
    const fields = [...patches.keys()];
    if (fields.length === 0) return NO_VALUES;
    const texts = await this.#writer.connection.run((client) => client.hmGet(entries, fields));
    const set: (readonly [field: string, text: string])[] = [];
    const removed: string[] = [];
    for (const [index, field] of fields.entries()) {
      const text = texts[index];
      let value: unknown = text == null ? null : JSON.parse(text);
      for (const patch of patches.get(field)!) value = patch === null ? null : mergeInPlace(value, patch);
      if (value === null) removed.push(field);
      else set.push([field, JSON.stringify(value)]);
    }
    return { set, removed };
  }

  /** Runs a change on whatever state the engine has of a cluster. It is repeated where the state changed meanwhile, by a change that was late. */
  async #withState(
    clusterId: string,
    change: (before: string, version: string | undefined) => Promise<boolean>,
  ): Promise<void> {
    const { connection, keys } = this.#writer;
    for (;;) {
      const text = (await connection.run((client) => client.hGet(keys.clusters, clusterId))) ?? "";
      if (await change(text, versionOf(text))) return;
    }
  }

  /** Runs the script. @returns false where the state before is another one */
  async #change(
    clusterId: string,
    before: string,
    after: State | undefined,
    entries: readonly string[],
    { set, removed }: Values,
  ): Promise<boolean> {
    const { keys } = this.#writer;
    const text = after === undefined ? "" : JSON.stringify(after);
    const values = [clusterId, before, text, String(set.length), ...set.flat(), ...removed];
    const isDone = await this.#writer.write(CHANGE, [keys.clusters, keys.staged, ...entries], values);
    if (!isDone) return false;
    if (after === undefined) this.#known.delete(clusterId);
    else this.#known.set(clusterId, { text, version: after.version });
    return true;
  }

  /** Reads all entries of a cluster, some at a time. @throws {Error} if they are no snapshot */
  async #read(clusterId: string, version: string) {
    const { connection, keys } = this.#writer;
    const entries = keys.entries(clusterId, version);
    const draft = new SnapshotDraft(clusterId);
    let cursor = "0";
    let isWhole = false;
    do {
      const found = await connection.run((client) =>
        client.hScan(entries, cursor, { COUNT: ENTRIES_AT_ONCE }),
      );
      cursor = found.cursor;
      isWhole = (await inTurns(applyTo(draft, found.entries))) || isWhole;
    } while (cursor !== "0");
    if (!isWhole) throw new Error(`${entries} is missing, or not whole`);
    return inTurns(draft.parseInSteps());
  }

  /** Removes entries that a gateway wrote and did not come to count. */
  async #removeStaged(): Promise<void> {
    const { connection, keys } = this.#writer;
    for (const entries of await connection.run((client) => client.sMembers(keys.staged)))
      await connection.run((client) => client.multi().unlink(entries).sRem(keys.staged, entries).exec());
  }

  #refuseUnlessOpen(): void {
    if (this.#closed) throw new StoreError("STORE_CLOSED", "the store is closed");
  }
}

/** Values of a hash that change. */
interface Values {
  readonly set: readonly (readonly [field: string, text: string])[];
  readonly removed: readonly string[];
}
const NO_VALUES: Values = { set: [], removed: [] };

/** Where the entries of a state are; undefined for no state, and for one that cannot be read. */
function versionOf(text: string): string | undefined {
  try {
    return State.parse(JSON.parse(text)).version;
  } catch {
    return undefined;
  }
}

/** Applies values to a draft, in steps. @returns whether the mark is among them */
function* applyTo(
  draft: SnapshotDraft,
  entries: readonly { readonly field: string; readonly value: string }[],
): Generator<void, boolean> {
  let isMarked = false;
  for (const { field, value } of entries) {
    if (field === MARK) isMarked = true;
    else draft.apply(lineOf(field, JSON.parse(value)));
    yield;
  }
  return isMarked;
}
