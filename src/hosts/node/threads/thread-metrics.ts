import { setTimeout as sleep } from "node:timers/promises";
import {
  countersOf,
  formatMetrics,
  type MetricSnapshot,
  type MetricsSource,
  type SnapshotSource,
} from "../../../http/metrics/metric.ts";
import { mergeMetrics } from "../../../http/metrics/node-metrics.ts";

/** The time that a thread has for its metrics, in milliseconds. */
const COLLECT_TIMEOUT = 1000;

interface MeasuredThread {
  /** Rejects when it ends. */
  readonly measure: () => Promise<readonly MetricSnapshot[]>;
  /** Its last metrics; empty if it never returned any. */
  last: readonly MetricSnapshot[];
}

/**
 * The metrics of a process, on its main thread, which answers every scrape. A scrape collects those of all
 * threads. Counters of a thread that does not answer in time, and of one that ended, are those of its last
 * answer; gauges are those of the threads that answered.
 */
export class ThreadMetrics implements MetricsSource {
  readonly contentType: string;
  readonly #main: SnapshotSource;
  readonly #timeout: number;
  readonly #threads = new Set<MeasuredThread>();
  /** What threads counted that ended. */
  #past: readonly MetricSnapshot[] = [];

  /** @param timeout the time that a thread has for its metrics, in milliseconds */
  constructor(main: SnapshotSource, timeout: number = COLLECT_TIMEOUT) {
    this.contentType = main.contentType;
    this.#main = main;
    this.#timeout = timeout;
  }

  /** Adds a thread. @returns a function to call when it has ended, which keeps its counters */
  add(measure: MeasuredThread["measure"]): () => void {
    const thread: MeasuredThread = { measure, last: [] };
    this.#threads.add(thread);
    return () => {
      this.#threads.delete(thread);
      this.#past = mergeMetrics(this.#past, [countersOf(thread.last)]);
    };
  }

  /** The metrics of the process. */
  async render(): Promise<string> {
    // As of now: a thread that ends meanwhile is among `threads`.
    const past = this.#past;
    const [main, ...threads] = await Promise.all([
      this.#main.snapshot(),
      ...Array.from(this.#threads, (thread) => this.#collect(thread)),
    ]);
    return formatMetrics(mergeMetrics(main, [...threads, past]));
  }

  async #collect(thread: MeasuredThread): Promise<readonly MetricSnapshot[]> {
    const late = sleep(this.#timeout, undefined, { ref: false });
    const measured = await Promise.race([thread.measure(), late]).catch(() => undefined);
    if (measured === undefined) return countersOf(thread.last);
    thread.last = measured;
    return measured;
  }
}
