import { Hono } from "hono";
import type { ServingStatus } from "../gateway/gateway-types.ts";
import { describeStale } from "./json/freshness-comment.ts";

/** Metrics in a text format, from whichever library the host brings along. */
export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}

/**
 * `/healthz`: the process answers. `/readyz`: queries get answers (200), or why they do not (503).
 * `/metrics`: where the host brings a source of them.
 * @param clock Unix milliseconds
 * @param isDetailed whether `/readyz` counts clusters and services
 */
export function createHealthRoutes(
  gateway: { status(): ServingStatus },
  metrics: MetricsSource | undefined,
  clock: () => number,
  isDetailed = true,
): Hono {
  const routes = new Hono();
  const headers = { "cache-control": "no-store", "content-type": "text/plain; charset=utf-8" };
  routes.get("/healthz", () => new Response("ok\n", { headers }));
  routes.get("/readyz", () => {
    const status = gateway.status();
    if (!isDetailed)
      return new Response(status.ready ? "ready\n" : "not ready\n", {
        status: status.ready ? 200 : 503,
        headers,
      });
    const live = status.clusters.filter((cluster) => cluster.live).length;
    const counted = `${live} of ${status.clusters.length} clusters live`;
    if (status.ready) {
      const { services, staleSince } = status;
      const stale = staleSince === undefined ? "" : `; ${describeStale(staleSince, clock())}`;
      return new Response(`ready: ${counted}, ${services} services${stale}\n`, { headers });
    }
    return new Response(`not ready: ${whyNotReady(status, counted)}\n`, { status: 503, headers });
  });
  if (metrics !== undefined) {
    routes.get("/metrics", async () => {
      const text = await metrics.render();
      return new Response(text, { headers: { ...headers, "content-type": metrics.contentType } });
    });
  }
  return routes;
}

function whyNotReady({ clusters, transferError }: ServingStatus, counted: string): string {
  if (transferError !== undefined) return `nothing could be taken over from the primary: ${transferError}`;
  return clusters.length === 0
    ? "no cluster has pushed a snapshot yet"
    : `${counted}: every lease has expired`;
}
