import type { MessagePort } from "node:worker_threads";
import {
  countersOf,
  formatMetrics,
  type MetricSnapshot,
  type MetricsSource,
  mergeMetrics,
  type SnapshotSource,
} from "../../../http/metrics/metric.ts";

/** From the main thread: what are your metrics? */
interface CollectOrder {
  readonly collect: number;
}

/** The answer of a thread. */
interface Collected {
  readonly collected: number;
  readonly metrics: readonly MetricSnapshot[];
}

/** The time that a thread has for its metrics, in milliseconds. */
const COLLECT_TIMEOUT = 1000;

interface MeasuredThread {
  readonly port: MessagePort;
  /** Its last metrics; empty if it never returned any. */
  last: readonly MetricSnapshot[];
  /** The collection that they are from. */
  collection: number;
  /** Called when it has returned its metrics. */
  onCollected: (() => void) | undefined;
}

/**
 * The metrics of a process, on its main thread, which answers every scrape. A scrape collects those of all threads. Counters of a thread
 * that does not answer in time, and of one that ended, are those of its last answer; gauges are those of the threads that answered.
 */
export class ThreadMetrics implements MetricsSource {
  readonly contentType: string;
  readonly #main: SnapshotSource;
  readonly #timeout: number;
  readonly #threads = new Set<MeasuredThread>();
  /** What threads counted that ended. */
  #past: readonly MetricSnapshot[] = [];
  #collections = 0;
  #running: Promise<string> | undefined;

  /** @param timeout the time that a thread has for its metrics, in milliseconds */
  constructor(main: SnapshotSource, timeout: number = COLLECT_TIMEOUT) {
    this.contentType = main.contentType;
    this.#main = main;
    this.#timeout = timeout;
  }

  /**
   * Adds a thread, which has the other end of the port in `measureThread`.
   * @returns a function to call when the thread has ended, which keeps its counters
   */
  add(port: MessagePort): () => void {
    const thread: MeasuredThread = { port, last: [], collection: 0, onCollected: undefined };
    this.#threads.add(thread);
    port.on("message", ({ collected, metrics }: Collected) => {
      thread.last = metrics;
      thread.collection = collected;
      if (collected === this.#collections) thread.onCollected?.();
    });
    port.unref();
    return () => {
      if (!this.#threads.delete(thread)) return;
      this.#past = mergeMetrics({ main: [], threads: [], counted: [this.#past, countersOf(thread.last)] });
      thread.onCollected?.();
      port.close();
    };
  }

  /** The metrics of the process. Scrapes at the same time get the same ones. */
  render(): Promise<string> {
    this.#running ??= this.#render().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #render(): Promise<string> {
    const collection = ++this.#collections;
    const [main] = await Promise.all([
      this.#main.snapshot(),
      ...Array.from(this.#threads, (thread) => this.#collect(thread, collection)),
    ]);
    const all = [...this.#threads];
    const answered = all.filter((thread) => thread.collection === collection);
    const silent = all.filter((thread) => thread.collection !== collection);
    const parts = {
      main,
      threads: answered.map(({ last }) => last),
      counted: [...silent.map(({ last }) => countersOf(last)), this.#past],
    };
    return formatMetrics(mergeMetrics(parts));
  }

  /** Resolves when a thread has returned its metrics, or did not in time. */
  #collect(thread: MeasuredThread, collection: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#timeout);
      thread.onCollected = () => {
        clearTimeout(timer);
        resolve();
      };
      thread.port.postMessage({ collect: collection } satisfies CollectOrder);
    });
  }
}

/** Returns the metrics of this thread to the main thread, which has the other end of the port in `ThreadMetrics`. */
export function measureThread(port: MessagePort, own: SnapshotSource): void {
  port.on("message", ({ collect: collected }: CollectOrder) => {
    own.snapshot().then(
      (metrics) => port.postMessage({ collected, metrics } satisfies Collected),
      // The main thread goes on without them.
      () => {},
    );
  });
  port.unref();
}
