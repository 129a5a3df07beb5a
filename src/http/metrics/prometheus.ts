import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricValueWithName,
  Registry,
} from "prom-client";
import { DURATION_BOUNDS, type QueryCounters } from "../../answer/query-counters.ts";
import type { Forwarder } from "../../forward/forwarder.ts";
import type { AccessCounters, SnapshotSource } from "./counts.ts";
import { type ProcessFacts, registerForwarding, registerProcess } from "./gateway-metrics.ts";
import { readGauge, STATUS_GAUGES, type StatusSource } from "./status.ts";
import { snapshotOf } from "./threads.ts";

/**
 * Metrics for Prometheus. They cost queries nothing: a request for `/metrics` reads the counters and the gateway's
 * status. Only for hosts that prom-client runs on.
 * @param clock Unix milliseconds
 * @param forwarder undefined if names out of zone are not forwarded
 * @param access undefined if all clients see everything
 * @param facts undefined on hosts that do not know their process
 */
export function createPrometheusMetrics(
  gateway: StatusSource,
  counters: QueryCounters,
  clock: () => number,
  forwarder?: Forwarder,
  access?: AccessCounters,
  facts?: ProcessFacts,
): SnapshotSource {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  registerCounters(registry, counters);
  registerStatus(registry, gateway, clock);
  if (gateway.damage !== undefined) registerDamage(registry, gateway.damage);
  if (forwarder !== undefined) registerForwarding(registry, forwarder);
  if (access !== undefined) registerAccess(registry, access);
  if (facts !== undefined) registerProcess(registry, facts);
  const { contentType } = registry;
  return { contentType, render: () => registry.metrics(), snapshot: () => snapshotOf(registry) };
}

function registerCounters(registry: Registry, counters: QueryCounters): void {
  const registers = [registry];
  new Counter({
    name: "clusterset_doh_queries_total",
    help: "DNS queries answered, by transport, view, outcome and type.",
    labelNames: ["transport", "view", "outcome", "type"],
    registers,
    collect() {
      this.reset();
      for (const { count, ...labels } of counters.queries()) this.inc(labels, count);
    },
  });
  new Counter({
    name: "clusterset_doh_rejected_requests_total",
    help: "Requests rejected before they became DNS queries, by HTTP status.",
    labelNames: ["status"],
    registers,
    collect() {
      this.reset();
      for (const [status, count] of counters.rejections()) this.inc({ status }, count);
    },
  });
  new Counter({
    name: "clusterset_doh_pushes_total",
    help: "Requests to the push API, by method and HTTP status.",
    labelNames: ["method", "status"],
    registers,
    collect() {
      this.reset();
      for (const { count, ...labels } of counters.pushes()) this.inc(labels, count);
    },
  });
  new Counter({
    name: "clusterset_doh_forwarded_queries_total",
    help: "DNS queries below a registered federation, by outcome at its name servers.",
    labelNames: ["outcome"],
    registers,
    collect() {
      this.reset();
      for (const [outcome, count] of counters.forwards()) this.inc({ outcome }, count);
    },
  });
  new Counter({
    name: "clusterset_doh_rate_limited_queries_total",
    help: "UDP queries above the rate limit of their client's network: dropped, or answered truncated.",
    labelNames: ["action"],
    registers,
    collect() {
      this.reset();
      for (const [action, count] of counters.rateLimits()) this.inc({ action }, count);
    },
  });
  new Counter({
    name: "clusterset_doh_malformed_messages_total",
    help: "Messages over plain DNS and DNS over TLS that are not queries and got no answer, by transport.",
    labelNames: ["transport"],
    registers,
    collect() {
      this.reset();
      for (const [transport, count] of counters.malformedMessages()) this.inc({ transport }, count);
    },
  });
  new Counter({
    name: "clusterset_doh_limited_total",
    help: "Actions of limits, by the limit's key in the configuration (docs/reference/limits.md).",
    labelNames: ["limit"],
    registers,
    collect() {
      this.reset();
      for (const [limit, count] of counters.limits.counts()) this.inc({ limit }, count);
    },
  });
  new Counter({
    name: "clusterset_doh_connection_errors_total",
    help: "Errors of connections, streams and sockets, by source. Each ended only that connection or stream.",
    labelNames: ["source"],
    registers,
    collect() {
      this.reset();
      for (const [source, count] of counters.errors.counts()) this.inc({ source }, count);
    },
  });
  new QueryDurations(registry, counters);
}

function registerAccess(registry: Registry, access: AccessCounters): void {
  new Counter({
    name: "clusterset_doh_access_total",
    help: "Requests by access rule and outcome.",
    labelNames: ["rule", "outcome"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { count, ...labels } of access.counts()) this.inc(labels, count);
    },
  });
}

function registerDamage(registry: Registry, damage: { readonly count: number }): void {
  new Counter({
    name: "clusterset_doh_damaged_rows_total",
    help: "Times that a damaged row of the database took its cluster out of the answers.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(damage.count);
    },
  });
}

const DURATION = "clusterset_doh_query_duration_seconds";
const DURATION_HELP = "Time from a decoded query to its answer in wire format.";

/** prom-client's histogram with the buckets that QueryCounters has filled. */
class QueryDurations extends Histogram<"le"> {
  readonly #counters: QueryCounters;

  constructor(registry: Registry, counters: QueryCounters) {
    super({
      name: DURATION,
      help: DURATION_HELP,
      buckets: [...DURATION_BOUNDS],
      registers: [registry],
    });
    this.#counters = counters;
  }

  /** The text that the registry renders. */
  async getForPromString() {
    const { buckets, sum } = this.#counters.durations();
    const values: MetricValueWithName<"le">[] = [];
    let count = 0;
    for (const [index, held] of buckets.entries()) {
      count += held;
      values.push({
        metricName: `${DURATION}_bucket`,
        labels: { le: DURATION_BOUNDS[index] ?? "+Inf" },
        value: count,
      });
    }
    values.push({ metricName: `${DURATION}_sum`, labels: {}, value: sum });
    values.push({ metricName: `${DURATION}_count`, labels: {}, value: count });
    return { name: DURATION, help: DURATION_HELP, type: "histogram", values };
  }
}

function registerStatus(registry: Registry, gateway: StatusSource, clock: () => number): void {
  for (const gauge of STATUS_GAUGES) {
    const { name, help, labelNames } = gauge;
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const series = await readGauge(gauge, gateway, clock);
        this.reset();
        // A gauge without labels is 0 now, which is not what is not known.
        if (labelNames.length === 0) this.remove();
        for (const { labels, value } of series) this.set(labels, value);
      },
    });
  }
}
