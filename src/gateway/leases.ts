import type { ClusterMeta } from "../database/schema.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import { type HeldReport, holdReport, type Report, reportAhead, reportKey } from "../snapshot/report.ts";
import { CLOCK_JITTER, type Clock, unixTime } from "./clock.ts";
import type { OnGatewayEvent } from "./gateway-types.ts";

/** What a request says of its cluster beside a state. */
export interface LeaseTerms {
  /** Milliseconds of the lease. */
  readonly lease: number;
  readonly report: Report;
  /** What the worker reads; undefined if it does not say. */
  readonly instance: string | undefined;
}

/** The same as it was sent. */
export interface RequestedTerms {
  /** Undefined for the gateway's default. */
  readonly leaseSeconds?: number | undefined;
  /** Default: an empty one. */
  readonly report?: Report | undefined;
  readonly instance?: string | undefined;
}

/**
 * What a request at `now` gives a cluster's meta, whatever it pushes.
 * @param holder of the lease before: a request without an instance takes it from no holder
 */
export function leasedAt(
  now: number,
  { lease, report, instance }: LeaseTerms,
  holder: string | undefined,
): HeldReport & Pick<ClusterMeta, "renewedAt" | "expiresAt" | "instance"> {
  const named = instance ?? holder;
  return {
    renewedAt: now,
    expiresAt: now + lease,
    ...holdReport(report, now),
    ...(named !== undefined && { instance: named }),
  };
}

/** A cluster's meta after a request that pushes nothing. */
export function renewed({ uptime: _, ...meta }: ClusterMeta, now: number, terms: LeaseTerms): ClusterMeta {
  return { ...meta, ...leasedAt(now, terms, meta.instance) };
}

/**
 * Reports of a cluster that are logged in a window, at most: a worker may report something else with each
 * request.
 */
const MOST_REPORTS = 10;
/** Milliseconds. */
const REPORTS_WINDOW = 60_000;

/**
 * Logs what workers report, when it is something else than what was logged last: of each cluster at most ten
 * in a minute.
 */
export class ReportLog {
  readonly #clock: Pick<Clock, "now">;
  readonly #onEvent: OnGatewayEvent;
  /**
   * By cluster: what was logged last, when its window began, and how many reports of the window were logged.
   */
  readonly #logged = new Map<string, HeldReport & { readonly from: number; readonly count: number }>();

  constructor(clock: Pick<Clock, "now">, onEvent: OnGatewayEvent) {
    this.#clock = clock;
    this.#onEvent = onEvent;
  }

  /**
   * Takes the report of each request, so that one above the limit is logged with a later one that still has
   * it.
   * @param before the report before
   */
  take(clusterId: string, before: HeldReport, reported: HeldReport): void {
    const at = this.#clock.now();
    const last = this.#logged.get(clusterId);
    const isInWindow = last !== undefined && at - last.from < REPORTS_WINDOW;
    const { from, count } = isInWindow ? last : { from: at, count: 0 };
    if (count === MOST_REPORTS) return;
    if (reportKey(last ?? before) === reportKey(reported)) return;
    const { degraded = [] } = reported;
    this.#logged.set(clusterId, { degraded, from, count: count + 1 });
    const report = degraded.map(({ since: _, ...degradation }) => degradation);
    this.#onEvent(
      report.length === 0
        ? { event: "worker-recovered", clusterId }
        : { event: "worker-degraded", clusterId, degraded: report },
    );
  }
}

/** The times that are held of a cluster. */
type HeldTimes = HeldReport & Pick<ClusterMeta, "pushedAt" | "renewedAt" | "expiresAt">;

/** What is held of a cluster, with times of a clock that is ahead by so many milliseconds. */
export function withTimesAhead<Held extends HeldTimes>(held: Held, ahead: number): Held {
  const { pushedAt, renewedAt, expiresAt } = held;
  return {
    ...held,
    pushedAt: pushedAt + ahead,
    renewedAt: renewedAt + ahead,
    expiresAt: expiresAt + ahead,
    ...reportAhead(held, ahead),
  };
}

/**
 * What is stored of a cluster whose times are those of `clock`: Unix times, for the process that loads it has
 * another clock.
 */
export function toStored({ uptime: _, ...meta }: ClusterMeta, clock: Clock): ClusterMeta {
  const uptime = clock.uptime?.();
  return {
    ...withTimesAhead(meta, unixTime(clock, 0)),
    ...(uptime !== undefined && { uptime: { ...uptime, at: uptime.at - (clock.now() - meta.renewedAt) } }),
  };
}

/**
 * A cluster's meta as it goes on in a process that loads it, in times of `clock`. The lease has what was left
 * of it, and never more than its whole length, whatever the wall clock showed then and shows now.
 */
export function resumed(stored: ClusterMeta, clock: Clock): ClusterMeta {
  // Read once: between two looks at the clock a busy machine may run something else for a while.
  const now = clock.now();
  const renewedAt = now - elapsedSince(stored, clock, now);
  const { uptime: _, ...moved } = withTimesAhead(stored, renewedAt - stored.renewedAt);
  return {
    ...moved,
    pushedAt: Math.min(moved.pushedAt, renewedAt),
    expiresAt: Math.max(moved.expiresAt, renewedAt),
  };
}

/**
 * Milliseconds since a lease was renewed: by the wall clock, unless the machine has run since then and its
 * uptime says something else, because the wall clock was set.
 */
function elapsedSince({ renewedAt, uptime }: ClusterMeta, clock: Clock, now: number): number {
  const byWall = Math.max(0, unixTime(clock, now) - renewedAt);
  const running = clock.uptime?.();
  if (uptime === undefined || running?.boot !== uptime.boot || running.at < uptime.at) return byWall;
  const byUptime = running.at - uptime.at;
  return Math.abs(byUptime - byWall) < CLOCK_JITTER ? byWall : byUptime;
}

/**
 * The longest delay that timers take, in milliseconds (HTML, "timer initialization steps"): with more they
 * fire at once.
 */
const LONGEST_DELAY = 2 ** 31 - 1;

/** Calls back when the next lease expires. */
export interface LeaseWatch {
  /**
   * The next lease expires at `at` (Unix milliseconds, Infinity for never); it may be too early to look, but
   * not too late.
   */
  watch(at: number): void;
  stop(): void;
}

/** A timer of the process. */
export class LeaseTimer implements LeaseWatch {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  #set: { readonly at: number; readonly cancel: () => void } | undefined;

  /** @param onDue drops what has expired and calls `watch` again; may be called too early. */
  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Sees to a call at `at` (Unix milliseconds, Infinity for never), or before. */
  watch(at: number): void {
    if (this.#set !== undefined && this.#set.at <= at) return;
    this.stop();
    if (at === Number.POSITIVE_INFINITY) return;
    const delay = Math.min(Math.max(0, at - this.#clock.now()), LONGEST_DELAY);
    const cancel = this.#clock.setTimer(delay, () => {
      this.#set = undefined;
      this.#onDue();
    });
    this.#set = { at, cancel };
  }

  stop(): void {
    this.#set?.cancel();
    this.#set = undefined;
  }
}

/** A worker tried to push for a cluster whose lease another worker holds, which reads something else. */
export class OtherInstance extends Error {
  readonly code = "OTHER_INSTANCE";
}

/**
 * What keeps pushing for a cluster beside the worker that holds its lease. Times are those of the gateway's
 * clock.
 */
export interface Contention {
  readonly instance: string;
  readonly since: number;
  readonly last: number;
}

/**
 * Milliseconds after its last attempt for which another instance counts as there. Workers try at least once a
 * minute.
 */
const COUNTS_FOR = 180_000;

/**
 * Lets only the instance that holds a cluster's lease push: two workers with one cluster id would replace
 * each other's state with each push. A request without an instance, and one for a lease without an instance,
 * is let through.
 * @param contentions by cluster @throws {OtherInstance}
 */
export function refuseOtherInstance(
  contentions: Map<string, Contention>,
  clusterId: string,
  { instance: holder, expiresAt }: ClusterMeta,
  instance: string | undefined,
  { clock, onEvent }: { readonly clock: Pick<Clock, "now">; readonly onEvent: OnGatewayEvent },
): void {
  const contention = contentions.get(clusterId);
  const now = clock.now();
  if (instance === undefined || holder === undefined || instance === holder || expiresAt <= now) {
    if (contention === undefined || now - contention.last < COUNTS_FOR) return;
    contentions.delete(clusterId);
    onEvent({ event: "other-instance-gone", clusterId, instance: contention.instance });
    return;
  }
  contentions.set(clusterId, { instance, since: contention?.since ?? now, last: now });
  if (contention === undefined) onEvent({ event: "other-instance", clusterId, holder, instance });
  const seconds = Math.ceil((expiresAt - now) / 1000);
  throw new OtherInstance(
    `another worker pushes for "${clusterId}": its instance ${holder} holds the lease for ${seconds} s more, and this is instance ${instance}. They read different clusters or folders: give one of them another --cluster-id, or stop it`,
  );
}

/** A finding for a cluster for which a second worker pushes. */
export function contentionFinding(
  clusterId: string,
  holder: string | undefined,
  { instance }: Contention,
): ClusterFinding {
  return {
    clusterId,
    kind: "Cluster",
    name: clusterId,
    reason: "OtherInstance",
    message: `a second worker (instance ${instance}) pushes with this cluster id, and is rejected while the first one (instance ${holder}) holds the lease: what it reads is not answered. Give one of the two another cluster id, or stop it`,
  };
}
