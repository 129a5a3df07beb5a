import { expect, it } from "vitest";
import { QueryCounters } from "../../../src/answer/answer-query.ts";
import { metricsSource } from "../../../src/http/metrics/metric.ts";
import { readMetrics } from "../../../src/http/metrics/table.ts";
import { openApp } from "../../http/open-app.ts";
import { openPair, WEB } from "../pair.ts";

/** The HTTP application on a secondary, with the primary out of reach for a while. */
async function openWorld() {
  const pair = await openPair();
  const { clock, secondary, push, ask, source } = pair;
  const now = () => clock.now();
  const counters = new QueryCounters();
  const metrics = metricsSource(() => readMetrics({ gateway: secondary, counters, clock: now }));
  const app = openApp({ gateway: secondary, clock: now, zones: [], version: "0", counters, metrics });
  const get = async (path: string) => {
    const response = await app.request(path);
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  const loseFor = async (milliseconds: number) => {
    await push("west", 2);
    await ask();
    source.failure = new Error("connection refused");
    await clock.advance(milliseconds);
    await ask();
  };
  return { ...pair, get, loseFor };
}

const comment = ({ text }: { text: string }) => (JSON.parse(text) as { Comment: string }).Comment;

it("JSON says in words that it is stale, and what it is kept for", async () => {
  const { get, loseFor } = await openWorld();
  await loseFor(4000);
  expect(comment(await get(`/resolve?name=${WEB}`))).toMatch(/^seen from outside; 1 of 1 cluster live/);
  await loseFor(12_000);
  const stale = await get(`/resolve?name=${WEB}`);
  expect(comment(stale)).toMatch(/stale: the primary last answered 16 s ago; seen from outside; 1 of 1/);
  expect(stale.headers.get("cache-control")).toBe("max-age=1");
});

it("/readyz stays ready and says it", async () => {
  const { get, loseFor } = await openWorld();
  await loseFor(12_000);
  expect(await get("/readyz")).toMatchObject({
    status: 200,
    text: "ready: 1 of 1 clusters live; stale: the primary last answered 12 s ago; the last transfer failed: connection refused\n",
  });
});

it("/readyz is not ready before the first state, and says why", async () => {
  const { get, source, ask } = await openWorld();
  source.failure = new Error("connection refused");
  await ask();
  expect(await get("/readyz")).toMatchObject({
    status: 503,
    text: "not ready: nothing could be taken over from the primary: connection refused\n",
  });
});

it("/metrics has how stale it is, and not what only a primary knows", async () => {
  const { get, loseFor } = await openWorld();
  const staleSeconds = async () =>
    /^clusterset_doh_stale_seconds (.*)$/m.exec((await get("/metrics")).text)?.[1];
  expect(await staleSeconds()).toBe("0");
  await loseFor(12_000);
  expect(Number(await staleSeconds())).toBeCloseTo(12, 1);
  expect((await get("/metrics")).text).not.toMatch(/^clusterset_doh_(conflicts|findings)/m);
});

it("before anything is known the view of a cluster is SERVFAIL, not 404", async () => {
  const { get, source, ask, push, clock } = await openWorld();
  source.failure = new Error("connection refused");
  await ask();
  const path = (clusterId: string) => `/clusters/${clusterId}/resolve?name=${WEB}`;
  expect(JSON.parse((await get(path("west"))).text)).toMatchObject({ Status: 2 });
  source.failure = undefined;
  await push("west", 2);
  await clock.advance(20_000);
  await ask();
  expect(JSON.parse((await get(path("west"))).text)).toMatchObject({ Status: 0 });
  expect((await get(path("east"))).status).toBe(404);
});
