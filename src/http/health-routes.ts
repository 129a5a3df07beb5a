import { Hono } from "hono";
import type { DohGateway } from "./doh-gateway.ts";

/** Metrics in a text format, from whichever library the host brings along. */
export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}

/**
 * `/healthz`: the process answers. `/readyz`: queries get answers (200), or why they do not (503).
 * `/metrics`: where the host brings a source of them.
 */
export function createHealthRoutes(gateway: DohGateway, metrics: MetricsSource | undefined): Hono {
  const routes = new Hono();
  const headers = { "cache-control": "no-store", "content-type": "text/plain; charset=utf-8" };
  routes.get("/healthz", () => new Response("ok\n", { headers }));
  routes.get("/readyz", () => {
    const status = gateway.status();
    const live = status.clusters.filter((cluster) => cluster.live).length;
    const counted = `${live} of ${status.clusters.length} clusters live`;
    if (status.ready) return new Response(`ready: ${counted}, ${status.services} services\n`, { headers });
    const reason =
      status.clusters.length === 0
        ? "no cluster has pushed a snapshot yet"
        : `${counted}: the lease of every cluster has run out`;
    return new Response(`not ready: ${reason}\n`, { status: 503, headers });
  });
  if (metrics !== undefined) {
    routes.get("/metrics", async () => {
      const text = await metrics.render();
      return new Response(text, { headers: { ...headers, "content-type": metrics.contentType } });
    });
  }
  return routes;
}
