import { expect, it } from "vitest";
import { QueryCounters } from "../../../src/answer/answer-query.ts";
import type { DohGateway } from "../../../src/gateway/gateway-types.ts";
import { metricsSource } from "../../../src/http/metrics/metric.ts";
import { readMetrics } from "../../../src/http/metrics/table.ts";
import { openApp } from "../../http/open-app.ts";
import { openFresh, openPair, WEB } from "../pair.ts";

/** The HTTP application on a gateway. */
function appOn(gateway: DohGateway, now: () => number) {
  const counters = new QueryCounters();
  const metrics = metricsSource(() => readMetrics({ gateway, counters, clock: now }));
  const app = openApp({ gateway, clock: now, zones: [], version: "0", counters, metrics });
  const get = async (path: string) => {
    const response = await app.request(path);
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  return {
    get,
    comment: async () =>
      (JSON.parse((await get(`/resolve?name=${WEB}`)).text) as { Comment: string }).Comment,
    readyz: async () => (await get("/readyz")).text,
    /** The value of a metric, as text. */
    metric: async (name: string) =>
      new RegExp(`^clusterset_doh_${name} (.*)$`, "m").exec((await get("/metrics")).text)?.[1],
  };
}

it("JSON, /readyz and metrics of a secondary say since when the primary has not answered", async () => {
  const { clock, secondary, ask, source } = await openFresh();
  const { get, comment, metric } = appOn(secondary, () => clock.now());
  const loseFor = async (milliseconds: number) => {
    source.failure = new Error("connection refused");
    await clock.advance(milliseconds);
    await ask();
  };
  await loseFor(4000);
  expect(await comment()).toMatch(/^seen from outside; 1 of 1 cluster live/);
  expect(await metric("stale_seconds")).toBe("0");
  await loseFor(12_000);
  expect(await comment()).toMatch(/stale: the primary last answered 16 s ago; seen from outside; 1 of 1/);
  expect((await get(`/resolve?name=${WEB}`)).headers.get("cache-control")).toBe("max-age=1");
  expect(await get("/readyz")).toMatchObject({
    status: 200,
    text: "ready: 1 of 1 clusters live; stale: the primary last answered 16 s ago; the last transfer failed: connection refused\n",
  });
  expect(Number(await metric("stale_seconds"))).toBeCloseTo(16, 1);
  // What only a primary knows.
  expect((await get("/metrics")).text).not.toMatch(/^clusterset_doh_(conflicts|findings)/m);
});

it("JSON, /readyz and metrics of a primary say for how long a change waits", async () => {
  const { gateway, clock } = await openFresh();
  const { comment, readyz, metric } = appOn(gateway.everything, () => clock.now());
  gateway.arrived("west");
  await clock.advance(5000);
  expect(await readyz()).toBe("ready: 1 of 1 clusters live\n");
  expect(await metric("behind_seconds")).toBe("0");
  await clock.advance(7000);
  expect(await readyz()).toMatch(/; stale: a change waits for 12 s\n$/);
  expect(await metric("behind_seconds")).toBe("12");
  expect(await comment()).toMatch(/^.*stale: a change waits for 12 s; seen from outside/);
});

it("before the first state a secondary is not ready and says why, and the view of a cluster is SERVFAIL, not 404", async () => {
  const { source, secondary, ask, push, clock } = await openPair();
  const { get } = appOn(secondary, () => clock.now());
  source.failure = new Error("connection refused");
  await ask();
  expect(await get("/readyz")).toMatchObject({
    status: 503,
    text: "not ready: nothing could be taken over from the primary: connection refused\n",
  });
  const path = (clusterId: string) => `/clusters/${clusterId}/resolve?name=${WEB}`;
  expect(JSON.parse((await get(path("west"))).text)).toMatchObject({ Status: 2 });
  source.failure = undefined;
  await push("west", 2);
  await clock.advance(20_000);
  await ask();
  expect(JSON.parse((await get(path("west"))).text)).toMatchObject({ Status: 0 });
  expect((await get(path("east"))).status).toBe(404);
});
