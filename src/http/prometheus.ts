import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricValueWithName,
  Registry,
} from "prom-client";
import type { ClusterStatus, GatewayStatus, ServingStatus } from "../gateway/gateway-types.ts";
import type { MetricsSource } from "./health-routes.ts";
import { DURATION_BOUNDS, type QueryCounters } from "./query-counters.ts";

/** What metrics read: a gateway that compiles, or a secondary. */
export interface StatusSource {
  status(): ServingStatus | GatewayStatus;
}

/**
 * Metrics for Prometheus. Nothing is done while queries are answered: the counters and the gateway's
 * status are read when `/metrics` is asked for. Only for hosts that prom-client runs on.
 * @param clock Unix milliseconds
 */
export function createPrometheusMetrics(
  gateway: StatusSource,
  counters: QueryCounters,
  clock: () => number,
): MetricsSource {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  registerCounters(registry, counters);
  registerStatus(registry, gateway, clock);
  return { contentType: registry.contentType, render: () => registry.metrics() };
}

function registerCounters(registry: Registry, counters: QueryCounters): void {
  const registers = [registry];
  new Counter({
    name: "clusterset_doh_queries_total",
    help: "DNS queries answered, by transport, outcome, type and whom the answer was for.",
    labelNames: ["transport", "view", "outcome", "type"],
    registers,
    collect() {
      this.reset();
      for (const { count, ...labels } of counters.queries()) this.inc(labels, count);
    },
  });
  new Counter({
    name: "clusterset_doh_rejected_requests_total",
    help: "Requests refused by HTTP status before they became DNS queries.",
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
    help: "DNS queries below a registered federation, by how asking its name servers ended.",
    labelNames: ["outcome"],
    registers,
    collect() {
      this.reset();
      for (const [outcome, count] of counters.forwards()) this.inc({ outcome }, count);
    },
  });
  new Counter({
    name: "clusterset_doh_rate_limited_queries_total",
    help: "UDP queries beyond the rate limit of their client's network: not answered, or told to come over TCP.",
    labelNames: ["action"],
    registers,
    collect() {
      this.reset();
      for (const [action, count] of counters.rateLimits()) this.inc({ action }, count);
    },
  });
  new Counter({
    name: "clusterset_doh_malformed_messages_total",
    help: "Messages over plain DNS and DNS over TLS that are no queries and got no answer, by transport.",
    labelNames: ["transport"],
    registers,
    collect() {
      this.reset();
      for (const [transport, count] of counters.malformedMessages()) this.inc({ transport }, count);
    },
  });
  new QueryDurations(registry, counters);
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

  /** What the registry renders as text. */
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
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: `clusterset_doh_${name}`,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  const clusterGauge = (name: string, help: string, read: (cluster: ClusterStatus) => number) =>
    new Gauge({
      name: `clusterset_doh_cluster_${name}`,
      help,
      labelNames: ["cluster"],
      registers,
      collect() {
        this.reset();
        for (const cluster of gateway.status().clusters)
          this.set({ cluster: cluster.clusterId }, read(cluster));
      },
    });
  gauge("ready", "1 when queries are answered from a loaded image.", () => Number(gateway.status().ready));
  gauge("image_bytes", "Size of the zone image.", () => gateway.status().imageBytes);
  gauge("services", "Services in the zone image.", () => gateway.status().services);
  const compiled = (): GatewayStatus | undefined => {
    const status = gateway.status();
    return "conflicts" in status ? status : undefined;
  };
  // A secondary does not know them; what it has instead is how far behind its primary it is.
  if (compiled() === undefined)
    gauge(
      "stale_seconds",
      "Time since the primary was last heard, while answers say that they are stale; else 0.",
      () => {
        const { staleSince } = gateway.status();
        return staleSince === undefined ? 0 : (clock() - staleSince) / 1000;
      },
    );
  else {
    gauge(
      "conflicts",
      "Properties on which exporting clusters disagree.",
      () => compiled()?.conflicts.length ?? 0,
    );
    gauge(
      "findings",
      "Objects, or parts of them, that are not served.",
      () => compiled()?.findings.length ?? 0,
    );
  }
  clusterGauge("live", "1 while the cluster's lease runs.", (cluster) => Number(cluster.live));
  clusterGauge(
    "snapshot_age_seconds",
    "Time since the cluster's last accepted push.",
    (cluster) => (clock() - cluster.pushedAt) / 1000,
  );
  clusterGauge(
    "lease_remaining_seconds",
    "Time until the cluster's lease runs out; negative after that.",
    (cluster) => (cluster.expiresAt - clock()) / 1000,
  );
}
