import { once } from "node:events";
import { MessageChannel, type MessagePort } from "node:worker_threads";
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
  readonly port: MessagePort;
  /** Its last metrics; empty if it never returned any. */
  last: readonly MetricSnapshot[];
  /** Aborts when it has ended. */
  readonly ended: AbortController;
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
    const thread: MeasuredThread = { port, last: [], ended: new AbortController() };
    this.#threads.add(thread);
    port.unref();
    return () => {
      if (!this.#threads.delete(thread)) return;
      this.#past = mergeMetrics(this.#past, [countersOf(thread.last)]);
      thread.ended.abort();
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
    const answered = new Set<MeasuredThread>();
    const [main] = await Promise.all([
      this.#main.snapshot(),
      ...Array.from(this.#threads, async (thread) => {
        if (await this.#collect(thread)) answered.add(thread);
      }),
    ]);
    const threads = Array.from(this.#threads, (thread) =>
      answered.has(thread) ? thread.last : countersOf(thread.last),
    );
    return formatMetrics(mergeMetrics(main, [...threads, this.#past]));
  }

  /** Whether a thread has returned its metrics in time. */
  async #collect(thread: MeasuredThread): Promise<boolean> {
    const { port1, port2 } = new MessageChannel();
    const signal = AbortSignal.any([thread.ended.signal, AbortSignal.timeout(this.#timeout)]);
    thread.port.postMessage(port2, [port2]);
    try {
      [thread.last] = await once(port1, "message", { signal });
      return true;
    } catch {
      return false;
    } finally {
      port1.close();
    }
  }
}

/**
 * Returns the metrics of this thread to the main thread, which has the other end of the port in
 * `ThreadMetrics`.
 */
export function measureThread(port: MessagePort, own: SnapshotSource): void {
  port.on("message", (reply: MessagePort) => {
    // The main thread goes on without them.
    own.snapshot().then(
      (metrics) => reply.postMessage(metrics),
      () => {},
    );
  });
  port.unref();
}
