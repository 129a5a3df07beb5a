import type { ChangeOrder } from "./change-order.ts";
import { type Clock, unixTime } from "./clock.ts";

/**
 * How long a push that the gateway could not take counts as waiting, in milliseconds. Workers send it again
 * sooner.
 */
const POSTPONED_MILLISECONDS = 60_000;

/**
 * Called once for a push that arrived.
 * @param settled false where the gateway could not take it, and expects it again
 */
export type SettlePush = (settled: boolean) => void;

/** Milliseconds: a shared log in which nothing happens is read to its end about once a second. */
const CAUGHT_UP_WITHIN = 3000;

const NEVER = Number.POSITIVE_INFINITY;

type BacklogClock = Pick<Clock, "now" | "wallOffset">;

/** Pushes of a cluster that the gateway could not take. */
interface Postponed {
  /** When the oldest one arrived, in milliseconds of the clock. */
  readonly since: number;
  /** When the gateway could not take the last one. */
  readonly at: number;
}

/**
 * The pushes that arrived and are not in the answers yet. While one waits too long, or the order of changes
 * has newer ones, answers may be out of date.
 */
export class PushBacklog {
  readonly #clock: BacklogClock;
  readonly #most: number;
  readonly #isLive: (clusterId: string) => boolean;
  readonly #order: Pick<ChangeOrder, "trouble" | "caughtUpAt">;
  /** When each push arrived that is in progress. */
  readonly #inProgress = new Set<{ readonly since: number }>();
  /** By cluster. */
  readonly #postponed = new Map<string, Postponed>();
  #oldest = NEVER;

  /**
   * @param most milliseconds that a push may wait before answers count as out of date
   * @param isLive whether answers have anything of a cluster; a push that the gateway could not take counts
   * only then
   * @param order the order of changes, which may lack newer ones
   */
  constructor(
    clock: BacklogClock,
    most: number,
    isLive: (clusterId: string) => boolean,
    order: Pick<ChangeOrder, "trouble" | "caughtUpAt">,
  ) {
    this.#clock = clock;
    this.#most = most;
    this.#isLive = isLive;
    this.#order = order;
  }

  /**
   * A whole push of a cluster arrived. Bodies that are still being sent do not count: their senders could
   * make anything stale.
   */
  arrived(clusterId: string): SettlePush {
    const push = { since: this.#clock.now() };
    this.#inProgress.add(push);
    this.#oldest = Math.min(this.#oldest, push.since);
    return (settled) => {
      this.#inProgress.delete(push);
      const { since = push.since } = this.#postponed.get(clusterId) ?? {};
      if (settled) this.#postponed.delete(clusterId);
      else this.#postponed.set(clusterId, { since: Math.min(since, push.since), at: this.#clock.now() });
      this.#drop();
    };
  }

  /**
   * Another gateway with the same log took a request of a cluster, and the answers here have it. They lack no
   * push that this gateway refused before that: a worker sends one request after the other, and each has all
   * that the ones before had.
   * @param at Unix milliseconds
   */
  takenElsewhere(clusterId: string, at: number): void {
    const postponed = this.#postponed.get(clusterId);
    if (postponed === undefined || unixTime(this.#clock, postponed.at) > at) return;
    this.#postponed.delete(clusterId);
    this.#drop();
  }

  /** Since when answers may lack a change, in Unix milliseconds; undefined while nothing says so. */
  readonly behindSince = (now = this.#clock.now()): number | undefined => {
    const { trouble, caughtUpAt } = this.#order;
    if (this.#oldest === NEVER && trouble === undefined && caughtUpAt === undefined) return undefined;
    const most = this.#most;
    const ifLate = (since = NEVER, allowed = most) =>
      unixTime(this.#clock, now) - since > allowed ? since : NEVER;
    if (now - this.#oldest > most) this.#drop();
    const waiting = now - this.#oldest > most ? this.#oldest : NEVER;
    const late = ifLate(caughtUpAt, Math.max(most, CAUGHT_UP_WITHIN));
    const since = Math.min(waiting, ifLate(trouble?.since), late);
    return since === NEVER ? undefined : since;
  };

  #drop(): void {
    this.#oldest = NEVER;
    for (const { since } of this.#inProgress) this.#oldest = Math.min(this.#oldest, since);
    for (const [clusterId, { since, at }] of this.#postponed)
      if (this.#isLive(clusterId) && Math.abs(this.#clock.now() - at) < POSTPONED_MILLISECONDS)
        this.#oldest = Math.min(this.#oldest, since);
      else this.#postponed.delete(clusterId);
  }
}

/** Runs tasks with the same key one after the other, and tasks with different keys side by side. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `task` when all tasks before it with the same key have ended, well or not. */
  run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(task);
    const ended = result.then(ignore, ignore).then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    this.#last.set(key, ended);
    return result;
  }

  /** Resolves when no task is left. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}

function ignore(): void {}
