import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { QueryCounters } from "../../../src/answer/answer-query.ts";
import type { AppEnvironment } from "../../../src/http/messages/environment.ts";
import { metricsSource } from "../../../src/http/metrics/metric.ts";
import { readMetrics } from "../../../src/http/metrics/table.ts";
import { base64url, FakeGateway, NOW, query } from "../fake-gateway.ts";
import { openApp } from "../open-app.ts";

function start() {
  const gateway = new FakeGateway();
  const counters = new QueryCounters();
  const metrics = metricsSource(() => readMetrics({ gateway, counters, clock: () => NOW }));
  const pushRoutes = new Hono<AppEnvironment>().put("/:clusterId", (c) =>
    c.body(null, c.req.param("clusterId") === "a" ? 204 : 401),
  );
  return { app: openApp({ gateway, counters, metrics, pushRoutes }), gateway };
}

describe("/healthz and /readyz", () => {
  it("name the first clusters that never pushed", async () => {
    const { app, gateway } = start();
    gateway.state = { ...gateway.state, neverSeen: ["c", "d", "e", "f", "g", "h", "i"] };
    expect(await (await app.request("/readyz")).text()).toBe(
      "ready: 2 of 9 clusters live; c, d, e, f, g and 2 more never seen\n",
    );
    expect(await (await app.request("/metrics")).text()).toContain(
      'clusterset_doh_cluster_never_seen{cluster="i"} 1',
    );
  });
});

describe("/metrics", () => {
  it("have queries, durations, pushes, rejections and the clusters", async () => {
    const { app } = start();
    const wire = `/dns-query?dns=${base64url(query("web.shop.svc.clusterset.test"))}`;
    await app.request(wire);
    await app.request(wire);
    await app.request("/dns-query");
    await app.request("/api/v1/clusters/a", { method: "PUT" });
    await app.request("/api/v1/clusters/b", { method: "PUT" });
    for (const scrape of [1, 2]) {
      const response = await app.request("/metrics");
      expect(response.headers.get("content-type")).toContain("text/plain; version=0.0.4");
      const lines = (await response.text()).split("\n");
      expect(lines, `scrape ${scrape}`).toEqual(
        expect.arrayContaining([
          'clusterset_doh_queries_total{transport="https",view="outside",outcome="answer",type="A"} 2',
          'clusterset_doh_query_duration_seconds_bucket{le="+Inf"} 2',
          "clusterset_doh_query_duration_seconds_count 2",
          'clusterset_doh_rejected_requests_total{status="400"} 1',
          'clusterset_doh_pushes_total{method="PUT",status="204"} 1',
          'clusterset_doh_pushes_total{method="PUT",status="401"} 1',
          "clusterset_doh_ready 1",
          "clusterset_doh_compiled_bytes 4096",
          "clusterset_doh_services 2",
          'clusterset_doh_cluster_live{cluster="cluster-a"} 1',
          'clusterset_doh_cluster_snapshot_age_seconds{cluster="cluster-a"} 60',
          'clusterset_doh_cluster_lease_remaining_seconds{cluster="cluster-b"} 27',
        ]),
      );
    }
  });

  it("have what a gateway learns later, and no value of it before", async () => {
    const { app, gateway } = start();
    const hashIn = async () =>
      /^clusterset_doh_state_hash .*$/m.exec(await (await app.request("/metrics")).text())?.[0];
    gateway.state = { ...gateway.state, stateHash: undefined };
    expect(await hashIn()).toBeUndefined();
    gateway.state = { ...gateway.state, stateHash: "00000000002a0000" };
    expect(await hashIn()).toBe("clusterset_doh_state_hash 42");
  });

  it("counts requests to the push API by the methods that it has, and all others together", async () => {
    const { app } = start();
    for (const method of ["PUT", "POST", "FOO1", "FOO2", "constructor"])
      await app.request("/api/v1/clusters/a/b", { method });
    const text = await (await app.request("/metrics")).text();
    expect(text.match(/^clusterset_doh_pushes_total.*$/gm)).toEqual([
      'clusterset_doh_pushes_total{method="PUT",status="404"} 1',
      'clusterset_doh_pushes_total{method="POST",status="404"} 1',
      'clusterset_doh_pushes_total{method="other",status="404"} 3',
    ]);
  });
});
