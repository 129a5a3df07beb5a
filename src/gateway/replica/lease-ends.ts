import { BaseChanged, type SharedLog } from "../../store/shared/shared-log.ts";
import { isDiskFailure } from "../../store/store-error.ts";
import type { Clock } from "../clock.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import { LeaseTimer } from "../leases/lease-timer.ts";
import type { KnownClusters } from "./known-clusters.ts";

/** Milliseconds until the end of a lease is added again that could not be added, or that the log's clock does not see yet. */
const RETRY = 1000;

/** Adds the ends of leases to a log. Each gateway does; the first one counts, and only what the log says ends a lease. */
export class LeaseEnds {
  readonly #log: SharedLog;
  readonly #known: KnownClusters;
  readonly #clock: Clock;
  readonly #onEvent: OnGatewayEvent;
  readonly #lapse: (clusterId: string) => void;
  readonly #timer: LeaseTimer;
  #notBefore = 0;
  #closed = false;

  /** @param lapse takes a cluster out that the log knows nothing of */
  constructor(
    log: SharedLog,
    known: KnownClusters,
    clock: Clock,
    onEvent: OnGatewayEvent,
    lapse: (clusterId: string) => void,
  ) {
    this.#log = log;
    this.#known = known;
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.#lapse = lapse;
    this.#timer = new LeaseTimer(clock, () => void this.#end());
    known.onChange = () => this.#watch();
    this.#watch();
  }

  close(): void {
    this.#closed = true;
    this.#timer.stop();
  }

  #watch(): void {
    if (!this.#closed) this.#timer.watch(Math.max(this.#known.nextEnd, this.#notBefore));
  }

  async #end(): Promise<void> {
    const now = this.#clock.now();
    if (now >= this.#notBefore)
      for (const [clusterId, { id, isHeld }] of this.#known.ended(now)) {
        this.#notBefore = this.#clock.now() + RETRY;
        if (!isHeld) {
          this.#known.end(clusterId);
          this.#lapse(clusterId);
          continue;
        }
        try {
          await this.#log.append({ clusterId, base: id, change: { kind: "expired" } });
        } catch (error) {
          // Somebody renewed the lease, or ended it.
          if (error instanceof BaseChanged) continue;
          // Every other one would fail, too. That is said already.
          if (isDiskFailure(error)) break;
          this.#onEvent({ event: "removal-failed", clusterId, error });
        }
      }
    this.#watch();
  }
}
