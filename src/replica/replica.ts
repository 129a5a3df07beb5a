import type { Change } from "../database/prepare.ts";
import { rowAlone } from "../database/row-change.ts";
import type { ClusterRow } from "../database/schema.ts";
import { messageOf, StoreError } from "../database/store-error.ts";
import { DamagedCluster, type Event, StaleChange } from "../database/writer.ts";
import type { ChangeFollower, OrderParts, SharedOrder } from "../gateway/change-order.ts";
import { unixTime } from "../gateway/clock.ts";
import type { StoreTrouble } from "../gateway/gateway-types.ts";
import { inTurns, type ReplicaParts, ReplicatedDatabase, rowSumOf } from "./replicated-database.ts";
import { ENTRIES_AT_ONCE, type LogEntry, type SharedLog, sharedClock } from "./shared-log.ts";

/** Milliseconds until a change is decided again whose cluster another gateway changed, at most. */
const PAUSE = 100;
/** Milliseconds that a change which was added waits until it is applied. */
const MOST_WAIT = 10_000;
/** Milliseconds between two looks for leases that ended. */
const LEASES_EVERY = 1000;
/**
 * Milliseconds for which every lease holds once the log is followed again, or else its whole length: workers
 * that were rejected meanwhile wait for at most this long before they renew it.
 */
const SHORTEST_HOLD = 15_000;
/** The pauses between attempts while the log cannot be read, in milliseconds. */
const SHORTEST_PAUSE = 50;
const LONGEST_PAUSE = 1000;

/** A change that this gateway is adding to the log. */
interface OwnChange {
  /** Its cluster afterwards. */
  readonly cluster: ClusterRow;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  /** Undefined until the log has replied. */
  position: number | undefined;
  /** Up to which position rows were loaded since it was sent. */
  loaded: number;
  /** Whether the log has lost entries since it was sent. */
  isDoubtful: boolean;
}

/** The order of changes of several gateways: that of a log. Each applies its entries to its own database. */
export class Replica implements SharedOrder {
  readonly isShared = true;
  /** By which times in rows are to be read and written. */
  readonly clock: ReturnType<typeof sharedClock>;
  readonly #parts: ReplicaParts;
  readonly #database: ReplicatedDatabase;
  readonly #own = new Map<string, OwnChange>();
  readonly #paused = new Set<() => void>();
  #follower: ChangeFollower | undefined;
  #isRunning = false;
  #isChecked = false;
  /** The position of the log when it was looked at last. */
  #newest = 0;
  #mustReload = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Since when the log is followed and takes changes. */
  #followedSince: number;
  /** When all that the log had was applied. */
  #caughtUpAt = Number.NEGATIVE_INFINITY;
  #trouble: StoreTrouble | undefined;
  #isClosed = false;

  private constructor(parts: ReplicaParts) {
    this.#parts = parts;
    this.clock = parts.clock;
    this.#database = new ReplicatedDatabase(parts);
    this.#followedSince = parts.clock.now();
  }

  /** Brings a database to what a log has by now. @throws {StoreError} if the log cannot be read */
  static async open(log: SharedLog, parts: OrderParts): Promise<Replica> {
    const replica = new Replica({ ...parts, log, clock: sharedClock(parts.clock) });
    await replica.#check();
    replica.#isRunning = true;
    while (replica.#caughtUpAt === Number.NEGATIVE_INFINITY)
      await (replica.position < replica.#newest ? replica.#applyNext() : replica.#check());
    return replica;
  }

  get trouble(): StoreTrouble | undefined {
    return this.#trouble;
  }

  get caughtUpAt(): number {
    return unixTime(this.clock, this.#caughtUpAt);
  }

  /** The newest entry that was applied. */
  get position(): number {
    return this.#database.mark.position;
  }

  follow(follower: ChangeFollower): void {
    this.#follower = follower;
    void this.#run();
  }

  async append(decided: Change | Event): Promise<void> {
    if (!("entries" in decided) && decided.kind === "damage") return this.#loadAgain();
    const { writer } = this.#parts;
    const base = writer.reader.cluster(decided.cluster);
    const planned = await inTurns(this.clock, writer.planInSteps(decided));
    const change = { ...planned, claims: [...planned.claims] };
    const id = crypto.randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {});
    const own: OwnChange = {
      cluster: change.cluster,
      resolve,
      reject,
      position: undefined,
      loaded: 0,
      isDoubtful: false,
    };
    this.#own.set(id, own);
    try {
      own.position = await this.#database.append(id, base, change);
      if (own.position === undefined) return await this.#stale();
      this.#settle(own);
      await this.#inTime(promise);
    } finally {
      this.#own.delete(id);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#parts.log.close();
    for (const wake of this.#paused) wake();
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#isClosed)
      try {
        await this.#applyNext();
        await this.#endLeases();
        if (this.position >= this.#newest) this.#say(undefined);
        failures = 0;
      } catch (error) {
        if (this.#isClosed) return;
        this.#isChecked = false;
        this.#mustReload ||= error instanceof DamagedCluster;
        this.#say(messageOf(error));
        const pause = Math.min(SHORTEST_PAUSE * 2 ** Math.min(failures++, 10), LONGEST_PAUSE);
        await this.#pause(Math.ceil(pause * (0.5 + Math.random() / 2)), false);
      }
  }

  /** Applies entries that were read together, or loads what the log has. */
  async #applyNext(): Promise<void> {
    if (!this.#isChecked || this.#mustReload) await this.#check();
    const entries = await this.#parts.log.entries(this.position);
    const readAt = this.clock.now();
    if (entries.length === 0) this.#isChecked = false;
    for (const entry of entries) {
      if (this.#isClosed || !(await this.#apply(entry))) return;
      await new Promise<void>((resolve) => this.clock.nextTurn(resolve));
    }
    if (entries.length < ENTRIES_AT_ONCE && this.position >= this.#newest) this.#caughtUpAt = readAt;
  }

  /** Finds out whether the log goes on from what was applied. Where it does not, what it has is loaded. */
  async #check(): Promise<void> {
    const since = this.clock.now();
    const added = [...this.#own.values()].filter(({ position }) => position !== undefined);
    const head = await this.#parts.log.head(this.position);
    this.clock.see(since, head.now);
    this.#newest = head.position;
    const goesOn = this.#database.continuation(head, this.#isRunning);
    for (const own of added) if (own.position! > head.position) own.reject(lost());
    if (goesOn !== "follows" || this.#mustReload) {
      const isLost = goesOn === "lost";
      if (isLost) for (const own of this.#own.values()) own.isDoubtful = true;
      await this.#database.reload(isLost);
      this.#mustReload = false;
      this.#follower?.reloaded();
      for (const own of this.#own.values()) {
        own.loaded = this.position;
        this.#settle(own);
      }
      this.#wake();
    }
    if (this.position >= head.position) this.#caughtUpAt = since;
    this.#isChecked = true;
  }

  /** @returns false where the log does not go on with this entry */
  async #apply(entry: LogEntry): Promise<boolean> {
    const applied = await this.#database.apply(entry);
    if (applied === undefined) {
      this.#isChecked = false;
      this.#mustReload ||= entry.change === undefined;
      return false;
    }
    this.#follower?.applied(applied);
    this.#own.get(entry.id)?.resolve();
    for (const own of this.#own.values()) this.#settle(own);
    this.#wake();
    return true;
  }

  /**
   * Ends the wait of a change up to which the log was applied, or loaded. What was resolved before stays so.
   */
  #settle({ position, cluster, loaded, isDoubtful, resolve, reject }: OwnChange): void {
    if (position === undefined || position > this.position) return;
    const isThere = rowSumOf(this.#parts.writer.reader.cluster(cluster.id)) === rowSumOf(cluster);
    if (isThere || (position <= loaded && !isDoubtful)) resolve();
    else reject(lost());
  }

  /**
   * Adds the ends of leases to the log. Each gateway does; the first one counts. Only what the log says ends
   * a lease. After an outage workers have time to renew those that ended meanwhile.
   */
  async #endLeases(): Promise<void> {
    const now = this.clock.now();
    if (Math.abs(now - this.#lookedAt) < LEASES_EVERY) return;
    const { writer } = this.#parts;
    for (const row of writer.reader.clusters()) {
      if (row.state !== "live" || row.meta!.expiresAt > unixTime(this.clock, now)) continue;
      if (this.#trouble !== undefined) {
        // Whether the log takes changes is seen from one that changes nothing.
        await this.#database.append(crypto.randomUUID(), row, rowAlone("changes", row));
        break;
      }
      const hold = Math.max(row.meta!.expiresAt - row.meta!.renewedAt, SHORTEST_HOLD);
      if (now - this.#followedSince < hold) continue;
      const change = writer.plan({ kind: "expiry", cluster: row.id });
      await this.#database.append(crypto.randomUUID(), row, change);
    }
    this.#lookedAt = now;
  }

  /** Another gateway changed a cluster: waits until that is applied. @throws {StaleChange} */
  async #stale(): Promise<never> {
    const { position } = this;
    await this.#pause(PAUSE);
    if (this.position === position) {
      const head = await this.#parts.log.head(position);
      // What the log has of the cluster was not made by its entries, or it lost some: what it has is going to
      // be loaded.
      this.#mustReload ||= head.position === position;
      if (head.position <= position) await this.#pause(2 * LONGEST_PAUSE);
    }
    throw new StaleChange("another gateway changed the cluster");
  }

  /** A row is damaged: what the log has is loaded. */
  async #loadAgain(): Promise<void> {
    this.#mustReload = true;
    while (this.#mustReload && !this.#isClosed) await this.#pause(LONGEST_PAUSE);
  }

  /** @throws {StoreError} STORE_FAILED where it takes too long */
  async #inTime(applied: Promise<void>): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const late = "the change was added to the shared log, which cannot be read now";
    const cancel = this.clock.setTimer(MOST_WAIT, () => reject(new StoreError("STORE_FAILED", late)));
    await Promise.race([applied, promise]).finally(cancel);
  }

  /** Waits for a time. @param untilApplied or until the next entry was applied */
  async #pause(milliseconds: number, untilApplied = true): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (untilApplied) this.#paused.add(resolve);
    const cancel = this.clock.setTimer(milliseconds, resolve);
    await promise;
    cancel();
    this.#paused.delete(resolve);
  }

  #wake(): void {
    for (const wake of this.#paused) wake();
  }

  #say(reason: string | undefined): void {
    if (this.#trouble?.reason === reason) return;
    const { onEvent } = this.#parts;
    if (reason === undefined) {
      onEvent({ event: "log-followed-again" });
      this.#followedSince = this.clock.now();
    } else if (this.#trouble === undefined) onEvent({ event: "log-not-followed", reason });
    const since = this.#trouble?.since ?? unixTime(this.clock, this.clock.now());
    this.#trouble = reason === undefined ? undefined : { reason, since };
  }
}

function lost(): StaleChange {
  return new StaleChange("Valkey or Redis lost the change before this gateway applied it");
}
