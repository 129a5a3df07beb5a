import { setImmediate } from "node:timers/promises";
import { sumOf } from "../../src/database/driver.ts";
import type { ChangedRows, ClaimRow, PartRow, RowChange } from "../../src/database/row-change.ts";
import { StoreError } from "../../src/database/store-error.ts";
import {
  ENTRIES_AT_ONCE,
  type LogDraft,
  type LogEntry,
  type LogHead,
  type SharedCluster,
  type SharedLog,
  type WholeCluster,
} from "../../src/replica/shared-log.ts";

const emptyState = () => ({
  log: "",
  founding: undefined as string | undefined,
  /** Those from a position on; the newest one is always there. */
  entries: [] as LogEntry[],
  clusters: new Map<string, SharedCluster & { readonly endsAt: number }>(),
  entryRows: new Map<string, Map<string, PartRow>>(),
  claimRows: new Map<string, Map<string, ClaimRow>>(),
});
type State = ReturnType<typeof emptyState>;
/** Rows that are read at once: few, so that they change while a cluster is read. */
const PAGE = 3;

/** What `SharedLog` says, in memory. */
export class MemoryLog {
  readonly now: () => number;
  state: State = emptyState();
  /** The states after each entry, from the first one. */
  readonly #states: State[] = [emptyState()];
  readonly #connections: MemoryConnection[] = [];

  constructor(now: () => number) {
    this.now = now;
  }

  get position(): number {
    return this.state.entries.at(-1)?.position ?? 0;
  }

  connect(): MemoryConnection {
    const connection = new MemoryConnection(this);
    this.#connections.push(connection);
    return connection;
  }

  append({ id, log, base, change, lease }: LogDraft): number | "changed" | "other" {
    const { state } = this;
    const { cluster } = change;
    const held = state.clusters.get(cluster.id);
    if (state.log !== "" && state.log !== log) return "other";
    if ((held?.sum ?? 0) !== base) return "changed";
    if (change.kind === "expiry" && this.now() < held!.endsAt) return "changed";
    state.log = log;
    const newest = state.entries.at(-1);
    const position = (newest?.position ?? 0) + 1;
    const kept = structuredClone({ ...change, claims: [...change.claims] });
    state.entries.push({ position, id, before: newest?.id ?? "", cluster: cluster.id, change: kept });
    if (!state.founding?.includes('"over":true')) state.founding = change.founding ?? state.founding;
    const text = JSON.stringify(cluster);
    const endsAt = change.kind === "expiry" ? held!.endsAt : this.now() + lease;
    state.clusters.set(cluster.id, { id: cluster.id, sum: sumOf(cluster.id, text), text, endsAt });
    this.#write(kept);
    this.#states.push(structuredClone(state));
    this.wake();
    return position;
  }

  #write({ cluster: { id }, isCleared, entries, gone, claims }: RowChange): void {
    const { entryRows, claimRows } = this.state;
    const rows = (!isCleared && entryRows.get(id)) || new Map<string, PartRow>();
    const buckets = (!isCleared && claimRows.get(id)) || new Map<string, ClaimRow>();
    entryRows.set(id, rows);
    claimRows.set(id, buckets);
    for (const row of entries) rows.set(`${row.kind} ${row.part} ${row.name}`, row);
    for (const { kind, part, name } of gone) rows.delete(`${kind} ${part} ${name}`);
    for (const row of claims)
      if (row.text === "") buckets.delete(row.bucket);
      else buckets.set(row.bucket, row);
  }

  /** Leaves the newest entry, and none before it. */
  trim(): void {
    this.state.entries.splice(0, this.state.entries.length - 1);
  }

  /** Loses the newest entries. */
  loseLast(count: number): void {
    this.#states.splice(Math.max(1, this.#states.length - count));
    this.state = structuredClone(this.#states.at(-1)!);
    this.wake();
  }

  loseEverything(): void {
    this.loseLast(this.#states.length);
  }

  wake(): void {
    for (const connection of this.#connections) connection.wake();
  }
}

/** A `MemoryLog` as one gateway has it, which tests can cut off. */
export class MemoryConnection implements SharedLog {
  readonly #log: MemoryLog;
  #wake: () => void = () => {};
  #isCut = false;
  #isHeld = false;
  #isClosed = false;
  #lostReplies = 0;
  #replies: Promise<void> | undefined;
  /** Whether the engine has no memory for changes. */
  isFull = false;
  /** Whether `entries` waits for some. */
  isIdle = false;

  constructor(log: MemoryLog) {
    this.#log = log;
  }

  get isReachable(): boolean {
    return !(this.#isCut || this.#isHeld || this.#isClosed || this.isFull);
  }

  disconnect(): void {
    this.#isCut = true;
    this.wake();
  }

  reconnect(): void {
    this.#isCut = false;
    this.wake();
  }

  /** From now on entries wait, while everything else works. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.wake();
  }

  /** The next changes are added, and `append` rejects all the same. */
  loseReplies(count = 1): void {
    this.#lostReplies = count;
  }

  /** From now on changes are added, and `append` waits. @returns ends that */
  delayReplies(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#replies = promise;
    return resolve;
  }

  /** Has `entries` look again, as it does by itself after a second. */
  wake(): void {
    this.#wake();
  }

  async head(after: number): Promise<LogHead> {
    await this.#pass();
    const { log, entries, founding } = this.#log.state;
    const { position = 0, id = "" } = entries.at(-1) ?? {};
    const next = entries.find((entry) => entry.position > after);
    return { log, position, id, next, founding, now: this.#log.now(), session: 1 };
  }

  async append(draft: LogDraft): Promise<number | "changed" | "other"> {
    await this.#pass();
    if (this.isFull) throw new StoreError("STORE_FULL", "no memory left");
    const result = this.#log.append(draft);
    await this.#replies;
    if (this.#lostReplies > 0) {
      this.#lostReplies--;
      throw new StoreError("STORE_FAILED", "the reply is lost");
    }
    return result;
  }

  async entries(after: number): Promise<LogEntry[]> {
    await this.#pass();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const found = this.#after(after);
    if (found.length > 0) return found;
    this.isIdle = true;
    await promise;
    this.isIdle = false;
    await this.#pass();
    return this.#after(after);
  }

  async clusters(): Promise<SharedCluster[]> {
    await this.#pass();
    return [...this.#log.state.clusters.values()];
  }

  async *rows(cluster: string): AsyncIterable<ChangedRows> {
    const { entryRows, claimRows } = this.#log.state;
    for (const names of pages(entryRows.get(cluster))) {
      await this.#pass();
      const rows = this.#log.state.entryRows.get(cluster);
      yield { entries: names.flatMap((one) => rows?.get(one) ?? []), gone: [], claims: [] };
    }
    for (const names of pages(claimRows.get(cluster))) {
      await this.#pass();
      const rows = this.#log.state.claimRows.get(cluster);
      yield { entries: [], gone: [], claims: names.flatMap((one) => rows?.get(one) ?? []) };
    }
  }

  async whole(ids: readonly string[]): Promise<{ position: number; clusters: WholeCluster[] }> {
    await this.#pass();
    const { clusters, entryRows, claimRows } = this.#log.state;
    const wholes = ids.map((id) => {
      const entries = [...(entryRows.get(id)?.values() ?? [])];
      const claims = [...(claimRows.get(id)?.values() ?? [])];
      return { ...clusters.get(id)!, rows: { entries, gone: [], claims } };
    });
    return { position: this.#log.position, clusters: wholes };
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#pass();
    if (this.#log.state.log === from) this.#log.state.log = to;
  }

  close(): void {
    this.#isClosed = true;
    this.wake();
  }

  #after(position: number): LogEntry[] {
    if (this.#isHeld) return [];
    const found = this.#log.state.entries.filter((entry) => entry.position > position);
    return structuredClone(found.slice(0, ENTRIES_AT_ONCE));
  }

  async #pass(): Promise<void> {
    await setImmediate();
    if (this.#isClosed) throw new StoreError("STORE_CLOSED", "the store is closed");
    if (this.#isCut) throw new StoreError("STORE_FAILED", "ECONNREFUSED");
  }
}

function* pages(table: ReadonlyMap<string, unknown> = new Map()): Generator<readonly string[]> {
  const keys = [...table.keys()];
  for (let from = 0; from < keys.length; from += PAGE) yield keys.slice(from, from + PAGE);
}
