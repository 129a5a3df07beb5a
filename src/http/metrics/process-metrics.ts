import { Counter, Gauge, type Registry } from "prom-client";
import type { ControlCounts } from "../push/desired.ts";

/** What a host knows of its process. */
export interface ProcessFacts {
  /** Bytes of memory that the process may take. */
  readonly memoryLimitBytes: number;
  /** When the server's certificate expires, in Unix milliseconds; undefined without TLS. */
  readonly certificateExpiresAt: () => number | undefined;
  /** Of the threads that answer clients. Default: there are none beside the main thread. */
  readonly threads?: ThreadCounts | undefined;
  /** Of the control plane. */
  readonly control?: ControlCounts;
}

/** What is known of the threads that answer clients. */
export interface ThreadCounts {
  /** Open connections for HTTP, by the number of the thread. */
  connections(): readonly number[];
  /** Threads that ended and were replaced. */
  replaced(): number;
}

/** Registers the gauges of a process beside those that prom-client has. */
export function registerProcess(registry: Registry, facts: ProcessFacts): void {
  new Gauge({
    name: "clusterset_doh_memory_limit_bytes",
    help: "Memory that the process may take: the limit of its container, else the memory of the machine.",
    registers: [registry],
    collect() {
      this.set(facts.memoryLimitBytes);
    },
  });
  new Gauge({
    name: "clusterset_doh_certificate_remaining_seconds",
    help: "Time until the certificate that clients see expires; no value without TLS.",
    registers: [registry],
    collect() {
      this.remove();
      const expiresAt = facts.certificateExpiresAt();
      // Certificates expire by the wall clock.
      if (expiresAt !== undefined) this.set((expiresAt - Date.now()) / 1000);
    },
  });
  const { control = { streams: 0, lines: 0 } } = facts;
  new Gauge({
    name: "clusterset_doh_control_streams",
    help: "Open streams of desired states.",
    registers: [registry],
    collect() {
      this.set(control.streams);
    },
  });
  new Counter({
    name: "clusterset_doh_control_lines_total",
    help: "Lines of desired states sent to clusters.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(control.lines);
    },
  });
  const { threads } = facts;
  new Gauge({
    name: "clusterset_doh_thread_connections",
    help: "Open connections for HTTP, by the thread that answers them; no value where the main thread does.",
    labelNames: ["thread"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [thread, count] of (threads?.connections() ?? []).entries()) this.set({ thread }, count);
    },
  });
  new Counter({
    name: "clusterset_doh_threads_replaced_total",
    help: "Answering threads that ended and were replaced.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(threads?.replaced() ?? 0);
    },
  });
}
