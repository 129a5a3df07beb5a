import type { PrimaryParts } from "../../../../assembly/platform.ts";
import type { ClusterMeta } from "../../../../database/cluster-row.ts";
import { type Clock, unixTime } from "../../../../gateway/clock.ts";
import type { Gateway } from "../../../../gateway/gateway.ts";
import type { SnapshotSource, ThreadCounts } from "../../../../http/metrics/process-metrics.ts";
import type { SharedLimits } from "../../../../limits/shared/shared-limits.ts";
import { ThreadMetrics } from "../thread-metrics.ts";
import type { ThreadState } from "./thread-messages.ts";
import { ThreadSignals } from "./thread-signals.ts";

/** Tells answering threads that the database has changed, and what they do not find there. */
export class ThreadSharing {
  readonly signals = new ThreadSignals();
  readonly #clock: Clock;
  #gateway: Gateway | undefined;
  readonly #held = new Map<string, ClusterMeta>();
  /** The metrics of all threads, once there are those of this one. */
  metrics: ThreadMetrics | undefined;
  /** Threads that ended and were replaced. */
  replaced = 0;
  /** Posts to every thread. Default, before there are threads: nothing. */
  post: (state: ThreadState) => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What the gateway is opened with. It calls `onChange` when a change is durable, before it is acknowledged. */
  get parts(): Required<Pick<PrimaryParts, "onOpened" | "onChange" | "onLeaseHeld">> {
    return {
      onOpened: (gateway) => {
        this.#gateway = gateway;
        this.#changed();
      },
      onChange: () => this.#changed(),
      onLeaseHeld: (clusterId, meta) => {
        this.#held.set(clusterId, meta);
        this.post({ held: new Map([[clusterId, meta]]) });
      },
    };
  }

  /** What is posted to a thread that starts, beside registered federations. */
  get state(): ThreadState {
    return { held: this.#held };
  }

  /** Shares what depends on the time, too. */
  readonly beat = (): void => {
    this.#share();
    this.signals.shareBehind(this.#gateway?.behindSince());
  };

  /** A thread found a damaged row. */
  readonly damaged = (cluster: string): void => this.#gateway?.damaged({ cluster });

  /** Makes the metrics of this thread those of the process. */
  measure(own: SnapshotSource): SnapshotSource {
    this.metrics = new ThreadMetrics(own);
    return { ...own, contentType: own.contentType, render: () => this.metrics!.render() };
  }

  /** What is known of that many threads. */
  counts(limits: SharedLimits, threads: number): ThreadCounts {
    return {
      connections: () => limits.byThread("connections").slice(0, threads),
      replaced: () => this.replaced,
    };
  }

  #changed(): void {
    this.#share();
    this.signals.post();
  }

  #share(): void {
    const serial = this.#gateway?.state.serial ?? 0;
    // Where several gateways share a log, their wall clock is its clock.
    const wallOffset = this.#gateway?.unixTime(0) ?? unixTime(this.#clock, 0);
    this.signals.share({ serial, wallOffset });
  }
}
