import { Counter, Gauge, Histogram, type MetricValueWithName, type Registry } from "prom-client";
import { EXCHANGE_BOUNDS, type ForwardCounters } from "../../forward/counters.ts";
import type { Forwarder } from "../../forward/forwarder.ts";
import type { ControlCounts } from "../push/desired.ts";

/** Registers the metrics of forwarding, which a request for `/metrics` reads. */
export function registerForwarding(registry: Registry, forwarder: Forwarder): void {
  const registers = [registry];
  const { counters } = forwarder;
  new Counter({
    name: "clusterset_doh_outside_queries_total",
    help: "DNS queries for names out of zone where they are forwarded, by result.",
    labelNames: ["result"],
    registers,
    collect() {
      this.reset();
      for (const [result, count] of counters.results) this.inc({ result }, count);
    },
  });
  new Counter({
    name: "clusterset_doh_upstream_dropped_records_total",
    help: "Records that were left out of answers of upstreams, by reason.",
    labelNames: ["reason"],
    registers,
    collect() {
      this.reset();
      for (const reason of ["unrelated", "own-zone", "private-address"] as const)
        this.inc({ reason }, counters.droppedRecords.get(reason) ?? 0);
    },
  });
  new Counter({
    name: "clusterset_doh_upstream_failures_total",
    help: "Failed queries to upstreams.",
    labelNames: ["upstream"],
    registers,
    collect() {
      this.reset();
      for (const [upstream, { failures }] of counters.upstreams) this.inc({ upstream }, failures);
    },
  });
  new Counter({
    name: "clusterset_doh_upstream_hedges_total",
    help: "Queries that another upstream got because the first was slow.",
    registers,
    collect() {
      this.reset();
      this.inc(counters.hedges);
    },
  });
  new Gauge({
    name: "clusterset_doh_upstream_up",
    help: "1 while the upstream answers; 0 while it is set aside because it failed.",
    labelNames: ["upstream"],
    registers,
    collect() {
      this.reset();
      for (const { upstream, isSetAside } of forwarder.states()) this.set({ upstream }, isSetAside ? 0 : 1);
    },
  });
  new Gauge({
    name: "clusterset_doh_cached_answers",
    help: "Answers of upstreams in the cache, stale ones included.",
    registers,
    collect() {
      this.set(forwarder.cached.answers);
    },
  });
  new Gauge({
    name: "clusterset_doh_cached_bytes",
    help: "Approximate size of these answers in bytes.",
    registers,
    collect() {
      this.set(forwarder.cached.bytes);
    },
  });
  new UpstreamDurations(registry, counters);
}

const DURATION = "clusterset_doh_upstream_duration_seconds";
const DURATION_HELP = "Time that upstreams took to answer.";

/** prom-client's histogram with the buckets that ForwardCounters has filled. */
class UpstreamDurations extends Histogram<"le" | "upstream"> {
  readonly #counters: ForwardCounters;

  constructor(registry: Registry, counters: ForwardCounters) {
    super({
      name: DURATION,
      help: DURATION_HELP,
      labelNames: ["upstream"],
      buckets: [...EXCHANGE_BOUNDS],
      registers: [registry],
    });
    this.#counters = counters;
  }

  /** The text that the registry renders. */
  async getForPromString() {
    const values: MetricValueWithName<"le" | "upstream">[] = [];
    for (const [upstream, { buckets, sum }] of this.#counters.upstreams) {
      let count = 0;
      for (const [index, held] of buckets.entries()) {
        count += held;
        const le = EXCHANGE_BOUNDS[index] ?? "+Inf";
        values.push({ metricName: `${DURATION}_bucket`, labels: { upstream, le }, value: count });
      }
      values.push({ metricName: `${DURATION}_sum`, labels: { upstream }, value: sum });
      values.push({ metricName: `${DURATION}_count`, labels: { upstream }, value: count });
    }
    return { name: DURATION, help: DURATION_HELP, type: "histogram", values };
  }
}

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
