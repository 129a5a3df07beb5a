import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { ListenAddress } from "../../../config/values.ts";
import {
  byJoinedLabels,
  byLabel,
  counter,
  gauge,
  type Metric,
  type MetricsSource,
  readTable,
  where,
} from "../../../http/metrics/metric.ts";
import { withNodeMetrics } from "../../../http/metrics/node-metrics.ts";
import { counted, duration } from "../../../http/pages/page.ts";
import { describeDegradation, reasonLabel } from "../../../snapshot/report.ts";
import type { WorkerStatus } from "../../../worker/sync.ts";
import { listen, listenFailure } from "../listen.ts";

const TEXT = "text/plain; charset=utf-8";
/** Milliseconds for the whole of a request, which has no body. */
const REQUEST_TIMEOUT = 5000;
/** Probes and Prometheus need a few. */
const MOST_CONNECTIONS = 64;

/** A running server of a worker. */
interface WorkerServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics` of a sync worker over HTTP in clear: they hold no secret and no
 * name of a service.
 * @throws {UsageError} if it cannot listen on the address
 */
export async function startWorkerServer(
  address: ListenAddress,
  status: () => WorkerStatus,
): Promise<WorkerServer> {
  const metrics = createWorkerMetrics(status);
  const answer = async (path: string): Promise<readonly [status: number, type: string, text: string]> => {
    if (path === "/healthz") return [200, TEXT, "ok\n"];
    if (path === "/metrics") return [200, metrics.contentType, await metrics.render()];
    if (path !== "/readyz") return [404, TEXT, "not found: /healthz, /readyz and /metrics are here\n"];
    const now = status();
    return [isReady(now) ? 200 : 503, TEXT, `${describeReadiness(now)}\n`];
  };
  const handle = async ({ method, url = "/" }: IncomingMessage, response: ServerResponse) => {
    response.setHeader("cache-control", "no-store");
    if (method !== "GET" && method !== "HEAD") {
      response.writeHead(405, { allow: "GET, HEAD" }).end();
      return;
    }
    const [code, type, text] = await answer(url.split("?", 1)[0]!);
    response.writeHead(code, { "content-type": type, "content-length": Buffer.byteLength(text) }).end(text);
  };
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT, headersTimeout: REQUEST_TIMEOUT },
    (request, response) => {
      handle(request, response).catch(() => response.destroy());
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  const port = await listen(server, address).catch((error) => {
    throw listenFailure(error, address);
  });
  server.on("error", () => undefined);
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Whether a gateway answers for the worker's cluster. One of several is enough: they do not depend on each
 * other.
 */
export function isReady({ gateways }: WorkerStatus): boolean {
  return gateways.some(({ leaseSeconds = 0 }) => leaseSeconds > 0);
}

/**
 * `ready: 1 of 2 gateways answer for this cluster; https://b.example: no lease; API server unreachable for
 * 4 min`.
 */
function describeReadiness(status: WorkerStatus): string {
  const { complete, report, gateways } = status;
  const lacking = gateways.filter(({ leaseSeconds = 0 }) => leaseSeconds <= 0);
  const leased = gateways.length - lacking.length;
  return [
    `${isReady(status) ? "ready" : "not ready"}: ${leased} of ${counted(gateways.length, "gateway")} ${gateways.length === 1 ? "answers" : "answer"} for this cluster`,
    ...(complete ? [] : ["the cluster is not read yet"]),
    ...lacking.map(
      ({ gateway, failure }) => `${gateway}: no lease${failure === undefined ? "" : ` (${failure})`}`,
    ),
    ...(report.degraded ?? []).map(
      (one) => `${describeDegradation(one)} for ${duration(one.seconds * 1000)}`,
    ),
  ].join("; ");
}

const METRICS: readonly Metric<WorkerStatus>[] = [
  gauge("clusterset_doh_worker_ready", "1 while a gateway holds a lease of the worker's cluster.", (status) =>
    Number(isReady(status)),
  ),
  gauge(
    "clusterset_doh_worker_degraded_seconds",
    "Time for which the worker cannot read all of its cluster, by reason.",
    ({ report: { degraded = [] } }) =>
      byLabel(
        "reason",
        degraded.map(({ reason, seconds }) => [reasonLabel(reason), seconds]),
      ),
  ),
  gauge(
    "clusterset_doh_worker_source_age_seconds",
    "Time since the API server last confirmed what the worker knows; no value before the first time.",
    ({ confirmedSeconds }) => confirmedSeconds ?? [],
  ),
  gauge(
    "clusterset_doh_worker_lease_remaining_seconds",
    "Time until the lease at a gateway expires; negative after that.",
    ({ gateways }) =>
      byLabel(
        "gateway",
        gateways.flatMap(({ gateway, leaseSeconds }) =>
          leaseSeconds === undefined ? [] : [[gateway, leaseSeconds] as const],
        ),
      ),
  ),
  counter(
    "clusterset_doh_worker_requests_total",
    "Requests to gateways, by method and HTTP status; none without a response.",
    ({ gateways }) =>
      gateways.flatMap(({ gateway, requests }) =>
        byJoinedLabels(
          ["gateway", "method", "status"],
          Array.from(requests, ([result, count]) => [`${gateway} ${result}`, count]),
        ),
      ),
  ),
  ...where(
    ({ control }: WorkerStatus) => control,
    [
      gauge(
        "clusterset_doh_control_leader",
        "1 while this worker writes the objects of its cluster.",
        ({ leads }) => Number(leads),
      ),
      gauge(
        "clusterset_doh_control_pending",
        "Names of services whose objects are not known to be as desired.",
        ({ pending }) => pending,
      ),
      counter(
        "clusterset_doh_control_writes_total",
        "Writes to the API server by verb and kind, rejected ones included.",
        ({ writes }) => byJoinedLabels(["verb", "kind"], writes),
      ),
      counter(
        "clusterset_doh_control_events_dropped_total",
        "Events that were not written, by reason.",
        ({ eventsDropped }) => byLabel("reason", eventsDropped),
      ),
    ],
  ),
];

/**
 * The metrics of a sync worker for Prometheus: its status at the time of the request, and those of the
 * process.
 */
export function createWorkerMetrics(status: () => WorkerStatus): MetricsSource {
  return withNodeMetrics(async () => readTable(METRICS, status()));
}
