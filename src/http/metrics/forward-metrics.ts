import { Counter, Gauge, Histogram, type MetricValueWithName, type Registry } from "prom-client";
import { EXCHANGE_BOUNDS, type ForwardCounters } from "../../forward/counters.ts";
import type { Forwarder } from "../../forward/forwarder.ts";

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
