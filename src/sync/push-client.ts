import { diffSnapshots } from "../snapshot/diff.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import { GatewayError, type GatewayOptions, GatewayRequests } from "./gateway-requests.ts";
import type { SyncLogger } from "./object-source.ts";
import { type BackoffLimits, Budget, type BudgetLimits, backoffPause, pause, Wakeup } from "./pacing.ts";

/** Options for pushing to one gateway. */
export interface PushClientOptions extends GatewayOptions {
  /** The lease in seconds: how long the gateway answers from the last push. */
  readonly leaseSeconds: number;
  readonly logger: SyncLogger;
  /** Whether the last pushed state is known to be current, so that the lease may be renewed. */
  readonly isCurrent: () => boolean;
  /** Pauses after transient failures. Default 500 ms to 15 s. */
  readonly backoff?: BackoffLimits;
  /** Pauses after rejections that an operator must fix. Default 10 s to 60 s. */
  readonly slowBackoff?: BackoffLimits;
  /** The budget of requests. Default 100 at once, 40 a second. */
  readonly budget?: BudgetLimits;
}

/** The cluster's state now, the same object as before if nothing changed; undefined while it is incomplete. */
export type NewestSnapshot = () => ClusterSnapshot | undefined;

interface Acknowledged {
  readonly snapshot: ClusterSnapshot;
  readonly generation: number;
  /** When the lease began, by this machine's clock. */
  readonly at: number;
}

const BACKOFF = { first: 500, most: 15_000 };
const SLOW_BACKOFF = { first: 10_000, most: 60_000 };
const ATTEMPTS_ONCE = 5;
/** Gateways accept 50 requests a second from a cluster by default (`limits.pushesPerSecond`). */
const BUDGET = { perSecond: 40, burst: 100 };

/**
 * Pushes the newest snapshot to one gateway and keeps the cluster's lease there. The first push is the full
 * snapshot; then it pushes deltas against the acknowledged state, and the full snapshot again if the gateway has
 * another generation. It pushes a change at once; it combines changes during a push into the next one.
 */
export class PushClient {
  readonly #options: PushClientOptions;
  readonly #requests: GatewayRequests;
  readonly #wakeup = new Wakeup();
  readonly #budget: Budget;
  #newest: NewestSnapshot = () => undefined;
  #wanted: ClusterSnapshot | undefined;
  #acknowledged: Acknowledged | undefined;
  #failures = 0;
  /** No attempt before this moment, by performance.now(). */
  #notBefore = 0;
  /** A snapshot with rejected content, and the earliest time for another snapshot. */
  #refused: { readonly snapshot: ClusterSnapshot; readonly anotherFrom: number } | undefined;

  /** @throws {TypeError} if the gateway is not an http or https URL. */
  constructor(options: PushClientOptions) {
    this.#options = options;
    this.#requests = new GatewayRequests(options);
    this.#budget = new Budget(options.budget ?? BUDGET);
    const { protocol, hostname } = new URL(options.gateway);
    if (protocol === "http:" && options.token !== undefined && !/^(?:localhost|127\.|\[::1\])/.test(hostname))
      options.logger.warn(
        { gateway: this.#requests.name },
        "the worker sends the token to this gateway unencrypted; use https",
      );
  }

  /** Reports that a newer state may exist. */
  changed(): void {
    this.#wakeup.wake();
  }

  /** Keeps the gateway current until the signal aborts. Calls `newest` when a push could start, not for each change. */
  async run(newest: NewestSnapshot, signal: AbortSignal): Promise<void> {
    this.#newest = newest;
    while (!signal.aborted) {
      const wait = this.#timeUntilDue();
      if (wait > 0) {
        await this.#wakeup.wait(wait, signal);
        continue;
      }
      try {
        await this.#step(signal);
      } catch (error) {
        if (!signal.aborted) this.#failed(error);
      }
    }
  }

  /**
   * Pushes one snapshot to the gateway.
   * @throws {GatewayError} at once if the gateway rejects it, else after five attempts.
   */
  async deliver(snapshot: ClusterSnapshot, signal: AbortSignal): Promise<void> {
    this.#wanted = snapshot;
    for (;;) {
      try {
        await this.#step(signal);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        const wait = this.#failed(error);
        const passing = error instanceof GatewayError && error.remedy === "soon";
        if (!passing || this.#failures >= ATTEMPTS_ONCE) throw error;
        await pause(wait, signal);
      }
    }
  }

  /** Removes the cluster from the clusterset of this gateway. @throws {GatewayError} */
  async leave(signal: AbortSignal): Promise<void> {
    const clusterId = (this.#acknowledged?.snapshot ?? this.#wanted)?.clusterId;
    if (clusterId === undefined) return;
    await this.#requests.leave(clusterId, signal);
    this.#options.logger.info({ gateway: this.#requests.name, clusterId }, "left the clusterset");
  }

  async close(): Promise<void> {
    await this.#requests.close();
  }

  /** Milliseconds until the next request; 0 for now. */
  #timeUntilDue(): number {
    const now = performance.now();
    const held = Math.max(0, this.#notBefore - now, this.#budget.wait(now));
    // Changes during a pause are extracted once, at its end, unless another snapshot could end the pause.
    if (held > 0 && this.#refused === undefined) return held;
    this.#wanted = this.#newest() ?? this.#wanted;
    if (this.#wanted === undefined) return Number.POSITIVE_INFINITY;
    if (this.#refused !== undefined && this.#refused.snapshot !== this.#wanted) {
      this.#notBefore = this.#refused.anotherFrom;
      this.#refused = undefined;
      return this.#timeUntilDue();
    }
    if (this.#acknowledged?.snapshot !== this.#wanted) return held;
    const renewal = this.#acknowledged.at + (this.#options.leaseSeconds * 1000) / 3;
    if (now < renewal) return Math.max(held, renewal - now);
    // The renewal is due, but the pushed state may be outdated: the source wakes this loop when it knows.
    return this.#options.isCurrent() ? held : 1000;
  }

  async #step(signal: AbortSignal): Promise<void> {
    const wanted = this.#wanted!;
    const { leaseSeconds, logger } = this.#options;
    const held = this.#acknowledged?.snapshot.clusterId === wanted.clusterId ? this.#acknowledged : undefined;
    const patch = held === undefined ? undefined : diffSnapshots(held.snapshot, wanted);
    // The lease starts when the gateway accepts the request, which is after this moment.
    const at = performance.now();
    this.#budget.spend(at);
    const { generation } =
      held === undefined
        ? await this.#requests.replace(wanted, leaseSeconds, signal)
        : patch === undefined
          ? await this.#requests.renew(wanted.clusterId, held.generation, leaseSeconds, signal)
          : await this.#requests.patch(wanted.clusterId, held.generation, patch, leaseSeconds, signal);
    this.#acknowledged = { snapshot: wanted, generation, at };
    const gateway = this.#requests.name;
    if (held === undefined) {
      const [exports, imports] = [Object.keys(wanted.exports).length, Object.keys(wanted.imports).length];
      const fields = { gateway, clusterId: wanted.clusterId, generation, exports, imports };
      logger.info(fields, "snapshot acknowledged");
    } else if (patch !== undefined) logger.info({ gateway, generation }, "changes acknowledged");
    else if (this.#failures > 0) logger.info({ gateway, generation }, "lease renewed again");
    this.#failures = 0;
    this.#notBefore = 0;
    this.#refused = undefined;
  }

  /** Records a failure and returns the pause after it. */
  #failed(error: unknown): number {
    const { logger, backoff = BACKOFF, slowBackoff = SLOW_BACKOFF } = this.#options;
    const gateway = this.#requests.name;
    if (!(error instanceof GatewayError)) throw error;
    this.#failures++;
    const { code, status, remedy } = error;
    const fields = { gateway, code, status, failures: this.#failures };
    // The full snapshot follows at once, unless the gateway rejected just that.
    const resync = remedy === "resync" && this.#acknowledged !== undefined;
    if (remedy === "resync") this.#acknowledged = undefined;
    if (remedy === "person" || remedy === "content") logger.error(fields, error.message);
    else if (resync) logger.info(fields, error.message);
    else logger.warn(fields, error.message);
    const now = performance.now();
    if (remedy === "content" && this.#wanted !== undefined)
      this.#refused = { snapshot: this.#wanted, anotherFrom: now + backoffPause(this.#failures, backoff) };
    const slow = remedy === "person" || remedy === "content";
    const wait = resync
      ? 0
      : Math.max(error.retryAfter, backoffPause(this.#failures, slow ? slowBackoff : backoff));
    this.#notBefore = now + wait;
    return wait;
  }
}
