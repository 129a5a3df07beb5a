import type { PrimaryParts } from "../../../../assembly/platform.ts";
import type { Clock } from "../../../../gateway/clock.ts";
import { LeaseTimer } from "../../../../gateway/leases/lease-timer.ts";
import type { SnapshotSource } from "../../../../http/metrics/metrics-source.ts";
import type { ThreadCounts } from "../../../../http/metrics/process-metrics.ts";
import type { SharedLimits } from "../../../../limits/shared/shared-limits.ts";
import { type Visibility, visibilityKey } from "../../../../merge/visibility/visibility.ts";
import { holdShared } from "../../../../transfer/parts/shared/hold-shared.ts";
import { type PublishedScope, ScopePublisher } from "../../../../transfer/parts/shared/scope-publisher.ts";
import type { SharedUpdate } from "../../../../transfer/parts/shared/shared-update.ts";
import { ThreadMetrics } from "../thread-metrics.ts";
import type { ThreadState } from "./thread-messages.ts";

/** Publishes what the gateway of the main thread serves: before a push or a renewal is acknowledged, and when answers become stale. */
export class ThreadSharing {
  readonly #clock: Clock;
  readonly #visibilities: readonly Visibility[];
  #publisher = new ScopePublisher(new Map());
  #isDue = false;
  /** The metrics of all threads, once there are those of this one. */
  metrics: ThreadMetrics | undefined;
  /** Threads that ended and were replaced. */
  replaced = 0;
  /** Posts to every thread. Default, before there are threads: nothing. */
  post: (state: ThreadState) => void = () => {};

  /** @param visibilities those of the access rules: nothing else is published */
  constructor(clock: Clock, visibilities: readonly Visibility[]) {
    this.#clock = clock;
    this.#visibilities = visibilities;
  }

  /** What the gateway is opened with, so that it calls back when something changes. */
  get parts(): Required<Pick<PrimaryParts, "hold" | "onLoaded" | "watchLeases" | "share">> {
    return {
      hold: holdShared,
      share: () => this.#share(),
      onLoaded: (gateway) => {
        const scopes = this.#visibilities.map((scope): [string, PublishedScope] => [
          visibilityKey(scope),
          gateway.within(scope),
        ]);
        this.#publisher = new ScopePublisher(new Map(scopes));
      },
      watchLeases: (onDue) => {
        const timer = new LeaseTimer(this.#clock, onDue);
        return {
          watch: (at) => {
            this.#publishSoon();
            timer.watch(at);
          },
          stop: () => timer.stop(),
        };
      },
    };
  }

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

  /** All that was published until now. */
  all(): SharedUpdate {
    return this.#publisher.all();
  }

  /** Publishes what changed. */
  readonly publish = (): void => {
    const update = this.#publisher.changes(this.#clock.now());
    if (update !== undefined) this.post({ update });
  };

  /** Posts parts of what was compiled, in steps, before the state that has them. */
  *#share(): Generator<void> {
    for (const added of this.#publisher.newParts(this.#clock.now())) {
      this.post({ update: { added, dropped: [], scopes: new Map() } });
      yield;
    }
  }

  /** The gateway calls when it has compiled or renewed something, and acknowledges that in a later microtask. */
  #publishSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.publish();
    });
  }
}
