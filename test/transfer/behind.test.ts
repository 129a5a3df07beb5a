import { expect, it } from "vitest";
import { QueryCounters } from "../../src/answer/answer-query.ts";
import { metricsSource } from "../../src/http/metrics/metric.ts";
import { readMetrics } from "../../src/http/metrics/table.ts";
import type { TransferState } from "../../src/transfer/transfer-state.ts";
import { answerNow } from "../gateway/open-keyed.ts";
import { openApp } from "../http/open-app.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { extendedErrors } from "../resolve/extended-errors.ts";
import { openFresh, openPair, WEB } from "./pair.ts";

it("a primary and its secondaries say that they are stale while a push waits too long", async () => {
  const { gateway, clock, ask, secondary } = await openFresh();
  const errorsOf = (name: string) =>
    extendedErrors(answerNow(gateway.everything, encodeQuery(name, "A"), undefined, clock.now()).bytes);
  const settle = gateway.arrived("west");
  const since = clock.now();
  await clock.advance(5001);
  expect([errorsOf(WEB), errorsOf("new.shop.svc.clusterset.local")]).toEqual([[3], [19]]);
  expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [3], freshness: 1 });
  expect(secondary.status()).toMatchObject({ behindSince: since });
  settle(true);
  await clock.advance(2000);
  expect(errorsOf(WEB)).toEqual([]);
  // It asks for the newest state, which the next answer is from.
  await ask();
  await clock.advance(1);
  expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [] });
  expect(secondary.status()).not.toHaveProperty("behindSince");
});

it("JSON, /readyz and metrics say for how long a change waits", async () => {
  const { gateway, clock } = await openFresh();
  const now = () => clock.now();
  const counters = new QueryCounters();
  const metrics = metricsSource(() => readMetrics({ gateway: gateway.everything, counters, clock: now }));
  const app = openApp({
    gateway: gateway.everything,
    clock: now,
    zones: [],
    version: "0",
    counters,
    metrics,
  });
  const text = async (path: string) => (await app.request(path)).text();
  gateway.arrived("west");
  await clock.advance(5000);
  expect(await text("/readyz")).toBe("ready: 1 of 1 clusters live\n");
  expect(await text("/metrics")).toContain("\nclusterset_doh_behind_seconds 0\n");
  await clock.advance(7000);
  expect(await text("/readyz")).toMatch(/; stale: a change waits for 12 s\n$/);
  expect(await text("/metrics")).toContain("\nclusterset_doh_behind_seconds 12\n");
  expect(JSON.parse(await text(`/resolve?name=${WEB}`))).toMatchObject({
    Comment: expect.stringMatching(/^.*stale: a change waits for 12 s; seen from outside/),
  });
});

it("a secondary keeps what it has while another gateway with the same log sends an older state", async () => {
  const { clock, source, events, ask, push } = await openPair();
  await push("west", 2);
  await ask();
  const states: TransferState[] = [];
  source.changeState = (state) => {
    states.push(state);
    return state;
  };
  await clock.advance(1001);
  await ask();
  await push("west", 3);
  await clock.advance(1001);
  await ask();
  await clock.advance(1);
  expect((await ask()).addresses).toHaveLength(3);
  source.forget();
  source.changeState = ({ at }) => ({ ...states[0]!, at });
  for (let second = 0; second < 3; second++) {
    await clock.advance(1001);
    expect(await ask()).toMatchObject({ addresses: { length: 3 }, errors: [] });
  }
  expect([source.states.length > 0, source.parts, events]).toEqual([true, [], []]);
  // The log was set back, as a backup is.
  await clock.advance(2000);
  await ask();
  expect(events).toContainEqual({ event: "log-replaced" });
});
