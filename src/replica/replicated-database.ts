import { type Database, sumOf } from "../database/driver.ts";
import { Reader } from "../database/reader.ts";
import {
  type ChangedRows,
  type ClaimRow,
  type PartRow,
  type RowChange,
  RowLoad,
  RowTables,
  rowAlone,
} from "../database/row-change.ts";
import type { ClusterRow } from "../database/schema.ts";
import {
  type Applied,
  DamagedCluster,
  type LogMark,
  MOST_CHARACTERS,
  MOST_ROWS,
  type Writer,
} from "../database/writer.ts";
import type { OrderParts } from "../gateway/change-order.ts";
import { unixTime } from "../gateway/clock.ts";
import type { LogEntry, LogHead, SharedCluster, SharedLog, sharedClock } from "./shared-log.ts";

/** What a database and a log are brought together by. */
export interface ReplicaParts extends OrderParts {
  readonly log: SharedLog;
  readonly clock: ReturnType<typeof sharedClock>;
}

/**
 * How a log goes on from a database: with the next entry; with one that cannot be had, or of which half was
 * applied; without entries that were applied; or it is another log.
 */
type Continuation = "follows" | "trimmed" | "lost" | "other";

/**
 * A gateway's database as a log has it up to a position: its rows are those of every other gateway at this
 * position.
 */
export class ReplicatedDatabase {
  readonly #parts: ReplicaParts;
  /** What a log that has no name yet is called. */
  readonly #fresh = crypto.randomUUID();
  readonly #steps: RowSteps;
  #mark: LogMark;
  #log: string;

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
    const { reader } = parts.writer;
    this.#steps = new RowSteps(parts.database, parts.writer);
    this.#log = reader.meta("log") ?? "";
    this.#mark = parts.writer.mark;
  }

  /** Of the newest entry that was applied. */
  get mark(): LogMark {
    return this.#mark;
  }

  /**
   * How a log goes on.
   * @param isRunning whether this process has followed it: then a log with another name replaced it
   */
  continuation(head: LogHead, isRunning: boolean): Continuation {
    const { position, id } = this.#mark;
    if (this.#log === "" && this.#parts.writer.reader.clusters().length > 0)
      return head.log === "" ? "lost" : "other";
    if (!isRunning && this.#log !== "" && head.log !== "" && head.log !== this.#log) return "other";
    if (head.position < position || (head.position === position && head.id !== id)) return "lost";
    if (head.position > position) {
      if (head.next?.position !== position + 1) return "trimmed";
      if (head.next.before !== id) return "lost";
    }
    // What is there of half an entry, or after a damaged row, is that of no position.
    if (this.#steps.halfWritten !== undefined || this.#parts.writer.reader.position() !== position)
      return "trimmed";
    if (head.log !== "") this.#setLog(head.log);
    return "follows";
  }

  /**
   * Applies the next entry, a large one in several turns.
   * @returns undefined where that cannot be: then the log has to be looked at again
   */
  async apply({ position, id, before, change }: LogEntry): Promise<Applied | undefined> {
    const isNext = position === this.#mark.position + 1 && before === this.#mark.id;
    if (!isNext || change === undefined || this.#log === "") return undefined;
    const applied = await inTurns(this.#parts.clock, this.#steps.write(change, { position, id }));
    this.#mark = { position, id };
    return applied;
  }

  /**
   * Adds a change to the log.
   * @param base the row of its cluster that it builds on
   * @returns its position; undefined where the log has another row
   */
  async append(
    id: string,
    base: ClusterRow | undefined,
    change: RowChange,
    sum = rowSumOf(base),
  ): Promise<number | undefined> {
    const { log, clock } = this.#parts;
    const { meta } = change.cluster;
    const lease = meta === undefined ? 0 : Math.max(0, meta.expiresAt - unixTime(clock, clock.now()));
    for (;;) {
      const name = this.#log === "" ? this.#fresh : this.#log;
      const result = await log.append({ id, log: name, base: sum, change, lease });
      if (typeof result === "number") {
        if (this.#log === "") this.#setLog(name);
        return result;
      }
      if (result === "changed") return undefined;
      this.#setLog((await log.head(0)).log);
    }
  }

  /**
   * Has the database have what the log has. Entries that only this gateway has are first added to the log
   * again, as the state of their clusters, where it has nothing newer.
   * @param isLost whether the log lost entries that were applied here
   */
  async reload(isLost: boolean): Promise<void> {
    const { log, onEvent } = this.#parts;
    onEvent({ event: "log-reloaded", lost: isLost });
    if (isLost) {
      const head = await log.head(0);
      if (head.log !== "" && head.log === this.#log) await log.rename(head.log, this.#fresh);
      this.#log = head.log === "" ? "" : (await log.head(0)).log;
      await this.#restore();
    }
    for (const [clusterId, sum] of await this.#load()) {
      onEvent({
        event: "log-damaged",
        clusterId,
        error: new Error("its rows in Valkey or Redis are not whole"),
      });
      const change = this.#parts.writer.plan({ kind: "damage", cluster: clusterId });
      await this.append(crypto.randomUUID(), undefined, change, sum);
    }
  }

  /** Adds clusters to the log of which it lost the newest state. */
  async #restore(): Promise<void> {
    const { log, database } = this.#parts;
    const theirs = new Map((await log.clusters()).map((cluster) => [cluster.id, cluster]));
    // A cluster whose own row is damaged has nothing to add.
    for (const row of new Reader(database, () => {}).clusters()) {
      const their = theirs.get(row.id);
      const change = this.#restored(row, their);
      // Where another gateway was faster, the log has its state.
      if (change !== undefined) await this.append(crypto.randomUUID(), undefined, change, their?.sum ?? 0);
    }
  }

  #restored(own: ClusterRow, their: SharedCluster | undefined): RowChange | undefined {
    const { writer } = this.#parts;
    const has = their && parsed(their);
    const [generation, newest] = [own.meta?.generation ?? 0, has?.meta?.generation ?? 0];
    if (has !== undefined && generation <= newest) {
      if (generation < newest || own.sum === has.sum || has.meta === undefined) return undefined;
      // Both were pushed with one generation: no delta on the one that is gone is taken for one on the other.
      const cluster = { ...has, meta: { ...has.meta, generation: generation + 1 } };
      return rowAlone("changes", cluster);
    }
    if (own.state === "damaged" || own.id === this.#steps.halfWritten) return undefined;
    try {
      const whole = writer.planner.whole(own);
      return { ...whole, claims: [...whole.claims] };
    } catch (error) {
      if (error instanceof DamagedCluster) return undefined;
      throw error;
    }
  }

  /** @returns clusters that are damaged in the log, and the sums of their rows there */
  async #load(): Promise<Map<string, number>> {
    const { log, database, writer } = this.#parts;
    const damaged = new Map<string, number>();
    const sums = new Map<string, number>();
    const { session, ...first } = await log.head(0);
    let mark: LogMark = first;
    const load = new RowLoad(database);
    for (const cluster of await log.clusters()) {
      const row = parsed(cluster);
      sums.set(cluster.id, cluster.sum);
      if (row === undefined) damaged.set(cluster.id, cluster.sum);
      else load.setCluster(row);
      for await (const rows of log.rows(cluster.id)) load.put(cluster.id, rows);
    }
    let head: LogHead;
    // Up to where rows are loaded: entries until then are to be written, too.
    let upTo: number | undefined;
    // Clusters of which an entry is not kept any more: they are read whole, as after a newer entry.
    const whole = new Set<string>();
    let wholeAt = 0;
    for (;;) {
      head = await log.head(mark.position);
      upTo ??= head.position;
      const isSame = head.position !== mark.position || head.id === mark.id;
      if (head.session !== session || head.position < mark.position || !isSame) throw changedMeanwhile();
      if (mark.position >= upTo) break;
      for (const { change, cluster, ...entry } of await log.entries(mark.position)) {
        const isNext = entry.position === mark.position + 1 && entry.before === mark.id;
        if (!isNext || (change === undefined && cluster === "")) throw changedMeanwhile();
        const isRead = whole.has(cluster) && entry.position <= wholeAt;
        if (change === undefined && !isRead) {
          const read = await log.whole([...whole.add(cluster)]);
          if (read.position < entry.position) throw changedMeanwhile();
          upTo = wholeAt = read.position;
          for (const one of read.clusters) {
            const row = parsed(one);
            sums.set(one.id, one.sum);
            damaged.delete(one.id);
            if (row === undefined) damaged.set(one.id, one.sum);
            else load.write({ ...rowAlone("whole", row), ...one.rows, isCleared: true });
          }
        } else if (change !== undefined && !isRead) {
          load.write(change);
          damaged.delete(change.isCleared ? change.cluster.id : "");
          sums.set(change.cluster.id, rowSumOf(change.cluster));
        }
        mark = entry;
        if (mark.position >= upTo) break;
      }
    }
    const { position, id } = mark;
    writer.replace(load, head.log, { position, id }, head.founding);
    load.drop();
    this.#steps.forget();
    this.#mark = { position, id };
    this.#log = head.log;
    for (const row of writer.reader.clusters())
      if (row.state !== "damaged" && !writer.reader.isWhole(row)) damaged.set(row.id, sums.get(row.id) ?? 0);
    return damaged;
  }

  #setLog(log: string): void {
    if (log === this.#log) return;
    this.#log = log;
    this.#parts.writer.setMeta("log", log);
  }
}

/** Takes the first step at once, and each other one after the work that waits then. */
export async function inTurns<Result>(
  { nextTurn }: Pick<ReplicaParts["clock"], "nextTurn">,
  steps: Generator<void, Result>,
): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await new Promise<void>((resolve) => nextTurn(resolve));
  }
}

/** What a change of a cluster builds on. */
export function rowSumOf(row: ClusterRow | undefined): number {
  return row === undefined ? 0 : sumOf(row.id, JSON.stringify(row));
}

function changedMeanwhile(): Error {
  return new Error("the log changed while it was loaded");
}

function parsed({ id, sum, text }: SharedCluster): ClusterRow | undefined {
  if (sumOf(id, text) !== sum) return undefined;
  return JSON.parse(text) as ClusterRow;
}

type GoneRow = Pick<PartRow, "kind" | "name" | "part">;

/** The row of `meta` with the position and the cluster of the entry that is written in steps. */
const IN_STEPS = "inSteps";

/** Writes entries of a shared log in several transactions, each with whole entries of the cluster. */
export class RowSteps {
  readonly #database: Database;
  readonly #writer: Writer;
  readonly #rows: RowTables;

  constructor(database: Database, writer: Writer) {
    this.#database = database;
    this.#writer = writer;
    this.#rows = new RowTables(database);
  }

  /** The cluster of which half an entry is written, also after a crash; undefined for none. */
  get halfWritten(): string | undefined {
    const { reader, mark } = this.#writer;
    const [position, cluster] = (reader.meta(IN_STEPS) ?? "0").split(" ");
    return Number(position) > mark.position ? cluster : undefined;
  }

  /** Writes what an entry makes of rows. */
  *write(change: RowChange, mark: LogMark): Generator<void, Applied> {
    const { id } = change.cluster;
    // A cluster whose rows are all replaced would lack some in between.
    const parts = change.isCleared ? [change] : partsOf(change);
    for (const part of parts.slice(0, -1)) {
      this.#database.atomically(() => {
        this.#writer.setMeta(IN_STEPS, `${mark.position} ${id}`);
        this.#rows.put(id, part);
      });
      yield;
    }
    return this.#writer.write({ ...change, ...parts.at(-1)! }, mark);
  }

  /** Forgets half an entry: all rows were replaced. */
  forget(): void {
    this.#writer.setMeta(IN_STEPS, "0");
  }
}

/** Rows as they are written together, all of an entry in one part: one part at least. */
function partsOf({ entries, gone, claims }: RowChange): readonly ChangedRows[] {
  const parts: { entries: PartRow[]; gone: GoneRow[]; claims: ClaimRow[] }[] = [];
  let last = "";
  let room = 0;
  const partFor = (entry: string, characters: number) => {
    if (parts.length === 0 || (room <= 0 && entry !== last)) {
      parts.push({ entries: [], gone: [], claims: [] });
      room = MOST_CHARACTERS;
    }
    last = entry;
    room -= Math.max(characters, MOST_CHARACTERS / MOST_ROWS);
    return parts.at(-1)!;
  };
  const goneOf = Map.groupBy(gone, idOf);
  for (const row of entries) {
    const id = idOf(row);
    const part = partFor(id, row.text.length);
    part.entries.push(row);
    part.gone.push(...(goneOf.get(id) ?? []));
    goneOf.delete(id);
  }
  for (const [id, rows] of goneOf) partFor(id, 0).gone.push(...rows);
  for (const row of claims) partFor(row.bucket, row.text.length).claims.push(row);
  return parts.length === 0 ? [{ entries, gone, claims }] : parts;
}

function idOf({ kind, name }: GoneRow): string {
  return `${kind} ${name}`;
}
