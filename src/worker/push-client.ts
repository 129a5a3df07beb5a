import { isLoopbackHost } from "../dns/address.ts";
import type { ChangeFollower, ChangingPart, ExtractedState } from "../extract/extracted-state.ts";
import { diffJson, equalJson, isJsonObject } from "../snapshot/json-value.ts";
import type { SnapshotPatch } from "../snapshot/lines/patch-line.ts";
import { type Report, reportKey } from "../snapshot/report.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import { GatewayError } from "./gateway-error.ts";
import { type GatewayOptions, GatewayRequests, type RequestTerms } from "./gateway-requests.ts";
import type { SyncLogger } from "./object-source.ts";
import { type BackoffLimits, Budget, type BudgetLimits, backoffPause, pause, Wakeup } from "./pacing.ts";

/** Options for pushing to one gateway. */
export interface PushClientOptions extends GatewayOptions {
  /** The lease in seconds: how long the gateway answers from the last push. */
  readonly leaseSeconds: number;
  readonly logger: SyncLogger;
  /** Whether the last pushed state is known to be current, so that the lease may be renewed. */
  readonly isCurrent: () => boolean;
  /**
   * What the worker reports of itself with each request. Default: nothing. `changed` says that it may be
   * something else.
   */
  readonly report?: () => Report;
  /** Pauses after transient failures. Default 500 ms to 15 s. */
  readonly backoff?: BackoffLimits | undefined;
  /** Pauses after rejections that an operator must fix. Default 10 s to 60 s. */
  readonly slowBackoff?: BackoffLimits;
  /** The budget of requests. Default 100 at once, 40 a second. */
  readonly budget?: BudgetLimits;
}

/** A worker at one gateway. */
export interface PushStatus {
  /** Scheme, host and path of the gateway. */
  readonly gateway: string;
  /**
   * Seconds until the lease there expires; negative after that, undefined before the first acknowledgement.
   */
  readonly leaseSeconds: number | undefined;
  /** By method and result: `PUT 200`. */
  readonly requests: ReadonlyMap<string, number>;
  /** The code of the last request's failure; absent if it was acknowledged. */
  readonly failure?: string | undefined;
}

/** What a client pushes: a cluster's state, which changes in place. */
interface PushSource {
  readonly state: ExtractedState;
  /** Brings the state up to date; false while it must not be pushed. */
  refresh(): boolean;
}

interface Acknowledged {
  readonly clusterId: string;
  readonly generation: number;
  /** When the lease began, by this machine's clock. */
  readonly at: number;
  /** The key of the report that the gateway has. */
  readonly report: string;
  /** Whether this client pushed what the gateway has, so that changes build on it. */
  readonly isPushed: boolean;
}

type Action = "push" | "renew";

const BACKOFF = { first: 500, most: 15_000 };
const SLOW_BACKOFF = { first: 10_000, most: 60_000 };
const ATTEMPTS_ONCE = 5;
/** Gateways accept 50 requests a second from a cluster by default (`limits.pushesPerSecond`). */
const BUDGET = { perSecond: 40, burst: 100 };

/**
 * Pushes a cluster's state to one gateway and keeps the cluster's lease there. The first push is all of it;
 * then the client pushes what changed since the last acknowledgement, and all of it again if the gateway has
 * another generation. It pushes a change at once; it combines changes during a push into the next one.
 */
export class PushClient {
  readonly #options: PushClientOptions;
  readonly #requests: GatewayRequests;
  readonly #wakeup = new Wakeup();
  readonly #budget: Budget;
  /** The cluster that was last pushed, acknowledged or not. */
  #clusterId: string | undefined;
  #acknowledged: Acknowledged | undefined;
  /**
   * The newest generation of that cluster that the gateway named. A request that comes late, after newer
   * ones, replaces none of them. A refusal never makes it smaller: of gateways with one address, one may be
   * behind.
   */
  #known: number | undefined;
  /** When the last lease began, whatever the gateway has of the cluster now. */
  #leasedAt: number | undefined;
  /** What the gateway lacks of the state, as far as it acknowledged anything. */
  #unsent = new UnsentChanges();
  #failures = 0;
  #failure: string | undefined;
  /** No push before this moment, by performance.now(). */
  #pushFrom = 0;
  /** No renewal before this moment. */
  #renewFrom = 0;
  /** Whether the last push failed: renewals say nothing of its state. */
  #hasFailedPush = false;
  #last: Action = "push";
  /** The version of a state with rejected content, and the earliest time for it. */
  #refused: { readonly version: number; readonly from: number } | undefined;

  /** @throws {TypeError} if the gateway is not an http or https URL. */
  constructor(options: PushClientOptions) {
    this.#options = options;
    this.#requests = new GatewayRequests(options);
    this.#budget = new Budget(options.budget ?? BUDGET);
    const { protocol, hostname } = new URL(options.gateway);
    if (protocol === "http:" && options.token !== undefined && !isLoopbackHost(hostname))
      options.logger.warn(
        { gateway: this.#requests.name },
        "the worker sends the token to this gateway unencrypted; use https",
      );
  }

  /** Reports that a newer state, or something else to report of the worker, may exist. */
  changed(): void {
    this.#wakeup.wake();
  }

  /** What the gateway has of the cluster, and what became of the requests. */
  status(): PushStatus {
    const { leaseSeconds } = this.#options;
    const leased = this.#leasedAt;
    return {
      gateway: this.#requests.name,
      leaseSeconds: leased === undefined ? undefined : leaseSeconds - (performance.now() - leased) / 1000,
      requests: this.#requests.counts,
      failure: this.#failure,
    };
  }

  /**
   * Keeps the gateway current until the signal aborts. Refreshes the source when a push could start, not for
   * each change.
   */
  async run(source: PushSource, signal: AbortSignal): Promise<void> {
    const { state } = source;
    state.follow((...change) => this.#unsent.follow(...change));
    while (!signal.aborted) {
      const action = this.#nextAction(source);
      if (typeof action === "number") {
        await this.#wakeup.wait(action, signal);
        continue;
      }
      const { version } = state;
      this.#last = action;
      try {
        if (action === "renew") await this.#renew(this.#acknowledged!, signal);
        else await this.#push(state, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#failed(error, action, version);
        if (this.#refused !== undefined && this.#acknowledged === undefined) await this.#renewHeld(signal);
      }
    }
  }

  /**
   * Pushes one snapshot to the gateway.
   * @throws {GatewayError} at once if the gateway rejects it, else after five attempts.
   */
  async deliver(snapshot: ClusterSnapshot, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#replace(snapshot, signal);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        const wait = this.#failed(error, "push");
        const passing = error instanceof GatewayError && error.remedy === "soon";
        if (!passing || this.#failures >= ATTEMPTS_ONCE) throw error;
        await pause(wait, signal);
      }
    }
  }

  async close(): Promise<void> {
    await this.#requests.close();
  }

  /** What to send now, or the milliseconds until that may change. */
  #nextAction(source: PushSource): Action | number {
    const now = performance.now();
    const spent = this.#budget.wait(now);
    if (spent > 0) return spent;
    const push = this.#untilPush(source, now);
    const renewal = this.#untilRenewal(now);
    // A push renews the lease, too: only after one that failed the renewal comes first, and then the push,
    // since renewals may fail where pushes do not.
    const isRenewalFirst = renewal === 0 && this.#hasFailedPush && this.#last === "push";
    if (push === 0 && !(isRenewalFirst && this.#options.isCurrent())) return "push";
    if (renewal > 0) return Math.min(push, renewal);
    // The renewal is due, but the pushed state may be outdated: the source wakes this loop when it knows.
    return this.#options.isCurrent() ? "renew" : Math.min(push, 1000);
  }

  /** The milliseconds until the state may be pushed; Infinity if there is nothing to push. */
  #untilPush(source: PushSource, now: number): number {
    // Changes during a pause are extracted once, at its end.
    if (now < this.#pushFrom) return this.#pushFrom - now;
    const { state } = source;
    if (!source.refresh()) return Number.POSITIVE_INFINITY;
    const held = this.#acknowledged;
    if (held?.isPushed && held.clusterId === state.clusterId && this.#unsent.isEmpty) {
      // A state that failed may be as before again.
      this.#hasFailedPush = false;
      return Number.POSITIVE_INFINITY;
    }
    const refused = this.#refused;
    return refused?.version === state.version ? Math.max(0, refused.from - now) : 0;
  }

  /** The milliseconds until the lease is to be renewed; Infinity without one. */
  #untilRenewal(now: number): number {
    const held = this.#acknowledged;
    if (held === undefined) return Number.POSITIVE_INFINITY;
    const isReported = reportKey(this.#report()) === held.report;
    const due = isReported ? held.at + this.#renewAfter : now;
    return Math.max(0, due - now, this.#renewFrom - now);
  }

  /** Milliseconds: a third of the lease. */
  get #renewAfter(): number {
    return (this.#options.leaseSeconds * 1000) / 3;
  }

  /** Pushes what changed, or all if nothing is acknowledged. Changes from now on are for the next push. */
  async #push(state: ExtractedState, signal: AbortSignal): Promise<void> {
    const last = this.#acknowledged;
    const held = last?.isPushed && last.clusterId === state.clusterId ? last : undefined;
    const sent = this.#unsent;
    const patch = held === undefined ? undefined : sent.toPatch(state);
    if (held !== undefined && patch === undefined) return;
    this.#unsent = new UnsentChanges();
    try {
      if (held === undefined) await this.#replace(state.toSnapshot(), signal);
      else await this.#patch(held, patch!, signal);
    } catch (error) {
      sent.add(this.#unsent);
      this.#unsent = sent;
      throw error;
    }
  }

  async #replace(snapshot: ClusterSnapshot, signal: AbortSignal): Promise<void> {
    const { clusterId, exports, imports } = snapshot;
    if (this.#clusterId !== clusterId) this.#known = undefined;
    this.#clusterId = clusterId;
    const generation = await this.#acknowledge(clusterId, (terms) =>
      this.#requests.replace(snapshot, terms, signal, this.#known),
    );
    const sizes = { exports: Object.keys(exports).length, imports: Object.keys(imports).length };
    const instance = this.#options.instance?.();
    const fields = { gateway: this.#requests.name, clusterId, generation, instance, ...sizes };
    this.#options.logger.info(fields, "snapshot acknowledged");
  }

  async #patch({ clusterId, generation }: Acknowledged, patch: SnapshotPatch, signal: AbortSignal) {
    const acknowledged = await this.#acknowledge(clusterId, (terms) =>
      this.#requests.patch(clusterId, generation, patch, terms, signal),
    );
    const fields = { gateway: this.#requests.name, generation: acknowledged };
    this.#options.logger.info(fields, "changes acknowledged");
  }

  async #renew(
    { clusterId, generation, isPushed }: Omit<Acknowledged, "at" | "report">,
    signal: AbortSignal,
  ) {
    const isAgain = this.#failures > 0 && !this.#hasFailedPush;
    await this.#acknowledge(
      clusterId,
      (terms) => this.#requests.renew(clusterId, generation, terms, signal),
      { isPushed },
    );
    const fields = { gateway: this.#requests.name, generation };
    if (isAgain) this.#options.logger.info(fields, "lease renewed again");
  }

  /**
   * Renews the lease of what this cluster's worker pushed before it was started anew, if the gateway still
   * answers from it.
   */
  async #renewHeld(signal: AbortSignal): Promise<void> {
    const clusterId = this.#clusterId!;
    // Without an instance the state could be that of another cluster.
    if (this.#options.instance?.() === undefined) return;
    try {
      const { generation, live } = await this.#requests.status(clusterId, signal);
      if (!live) return;
      await this.#renew({ clusterId, generation, isPushed: false }, signal);
      const fields = { gateway: this.#requests.name, clusterId, generation };
      this.#options.logger.warn(fields, "the gateway goes on with what the worker pushed before its start");
    } catch (error) {
      // It holds nothing, or not of this instance: only another snapshot helps.
      if (!(error instanceof GatewayError)) throw error;
    }
  }

  /**
   * Sends a request and takes its acknowledgement. Returns the generation.
   * @param renewed of a renewal: what is renewed
   */
  async #acknowledge(
    clusterId: string,
    send: (terms: RequestTerms) => Promise<number>,
    renewed?: Pick<Acknowledged, "isPushed">,
  ): Promise<number> {
    // The lease starts when the gateway accepts the request, which is after this moment.
    const at = performance.now();
    this.#budget.spend(at);
    const report = this.#report();
    const generation = await send({ leaseSeconds: this.#options.leaseSeconds, report });
    this.#leasedAt = at;
    this.#known = generation;
    const isPushed = renewed?.isPushed ?? true;
    this.#acknowledged = { clusterId, generation, at, report: reportKey(report), isPushed };
    this.#renewFrom = 0;
    if (renewed !== undefined && this.#hasFailedPush) return generation;
    this.#pushFrom = 0;
    this.#hasFailedPush = false;
    this.#refused = undefined;
    this.#failures = 0;
    this.#failure = undefined;
    return generation;
  }

  #report(): Report {
    return this.#options.report?.() ?? {};
  }

  /**
   * Records a failure and returns the pause after it.
   * @param version of the state whose push failed
   */
  #failed(error: unknown, action: Action, version?: number): number {
    const { logger, backoff = BACKOFF, slowBackoff = SLOW_BACKOFF } = this.#options;
    const gateway = this.#requests.name;
    if (!(error instanceof GatewayError)) throw error;
    this.#failures++;
    const { code, status, remedy } = error;
    this.#failure = code;
    const fields = { gateway, code, status, failures: this.#failures };
    const { currentGeneration } = error;
    const newest = newestOf(this.#known, currentGeneration);
    const isNews = this.#acknowledged !== undefined || newest !== this.#known;
    // The full snapshot follows at once, unless the gateway rejected just that, and says nothing new.
    const resync = remedy === "resync" && isNews;
    if (remedy === "resync") {
      this.#acknowledged = undefined;
      this.#known = newest;
    }
    if (remedy === "person" || remedy === "content") logger.error(fields, error.message);
    else if (resync) logger.info(fields, error.message);
    else logger.warn(fields, error.message);
    const now = performance.now();
    if (resync) {
      this.#pushFrom = now;
      this.#hasFailedPush = false;
      this.#refused = undefined;
      return 0;
    }
    const slow = remedy === "person" || remedy === "content";
    const { retryAfter = 0 } = error;
    const wait = Math.max(retryAfter, backoffPause(this.#failures, slow ? slowBackoff : backoff));
    // A lease that runs is renewed before it ends, whatever the gateway or a proxy asks for.
    const isLeased = this.#leasedAt !== undefined && now < this.#leasedAt + 3 * this.#renewAfter;
    const renewalWait = (longest: number) => now + (isLeased ? Math.min(longest, this.#renewAfter) : longest);
    if (action === "renew") {
      this.#renewFrom = renewalWait(wait);
      this.#pushFrom = Math.max(this.#pushFrom, now + wait);
      return wait;
    }
    this.#hasFailedPush = true;
    this.#renewFrom = Math.max(this.#renewFrom, renewalWait(retryAfter));
    const isOfContent = remedy === "content" && version !== undefined;
    // Another state may be good.
    this.#pushFrom = now + (isOfContent ? backoffPause(this.#failures, backoff) : wait);
    this.#refused = isOfContent ? { version, from: now + wait } : undefined;
    return wait;
  }
}

function newestOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || (other !== undefined && other > one) ? other : one;
}

/**
 * The entries of a state that changed since a gateway had it all, each as the gateway has it. A change and
 * what is sent of it cost the same at any size of the state.
 */
class UnsentChanges {
  /** By part and key; `before` is undefined where the gateway has no entry. */
  readonly #changes = new Map<string, { part: ChangingPart; key: string; before: unknown }>();

  /** Notes a change of the state. Two that cancel out are none. */
  readonly follow: ChangeFollower = (part, key, before, after) => {
    const id = `${part} ${key}`;
    const held = this.#changes.get(id);
    if (held === undefined) this.#changes.set(id, { part, key, before });
    else if (held.before === after) this.#changes.delete(id);
  };

  /**
   * The smallest patch that gives the gateway the state as it is now; undefined if it has that. Forgets
   * entries that are as before.
   */
  toPatch(state: ExtractedState): SnapshotPatch | undefined {
    const patch: Record<string, unknown> = {};
    for (const [id, { part, key, before }] of this.#changes) {
      const change = diffEntry(before, state.entry(part, key));
      if (change === undefined) this.#changes.delete(id);
      else if (part === "topology") patch[part] = change;
      else {
        patch[part] ??= {};
        (patch[part] as Record<string, unknown>)[key] = change;
      }
    }
    return Object.keys(patch).length === 0 ? undefined : patch;
  }

  /** Takes the changes since these were sent: the gateway did not take them. */
  add(later: UnsentChanges): void {
    for (const [id, change] of later.#changes) if (!this.#changes.has(id)) this.#changes.set(id, change);
  }

  get isEmpty(): boolean {
    return this.#changes.size === 0;
  }
}

/** The change of one entry as a merge patch; null removes it; undefined if there is none. */
function diffEntry(before: unknown, after: unknown): unknown {
  if (after === undefined) return before === undefined ? undefined : null;
  if (isJsonObject(before) && isJsonObject(after)) return diffJson(before, after);
  return equalJson(before, after) ? undefined : after;
}
