import { describe, expect, it } from "vitest";
import { DEFAULT_REFRESH_POLICY } from "../../src/transfer/refresh-schedule.ts";
import { settle } from "../gateway/fake-clock.ts";
import { openFresh, openPair, seeded } from "./pair.ts";

const { refresh, limit } = DEFAULT_REFRESH_POLICY;

describe("by the age of what is answered from", () => {
  it.each([
    ["just taken over", 0, { asks: 0, waits: false }],
    ["younger than refresh", refresh - 1, { asks: 0, waits: false }],
    ["as old as refresh", refresh, { asks: 1, waits: false }],
    ["as old as the limit", limit, { asks: 1, waits: false }],
    ["older than the limit", limit + 1, { asks: 1, waits: true }],
    ["of yesterday", 86_400_000, { asks: 1, waits: true }],
    [
      "of the future by less than the limit: the clock was set back a little",
      -2000,
      { asks: 1, waits: false },
    ],
    ["of the future: the clock was set back", -86_400_000, { asks: 1, waits: true }],
  ])("%s", async (_, age, expected) => {
    const { clock, source, secondary, done } = await openFresh();
    clock.stall(age);
    const fresh = secondary.freshen(clock.now());
    await settle();
    expect({ asks: source.states.length, waits: fresh !== undefined }).toEqual(expected);
    if (fresh !== undefined) await done(fresh);
    expect(secondary.freshen(clock.now())).toBeUndefined();
    await settle();
    expect(source.states).toHaveLength(expected.asks);
  });
});

describe("jitter", () => {
  it.each([
    ["a quarter less", 0, { refresh: 750, retry: 1500 }],
    ["neither more nor less", 0.5, { refresh: 1000, retry: 2000 }],
    ["a quarter more", 1 - Number.EPSILON, { refresh: 1250, retry: 2500 }],
  ])("a secondary refreshes, and tries again after a failure, after %s", async (_, random, pauses) => {
    const policy = { refresh: 1000, retry: 2000 };
    const { clock, source, secondary, push, ask } = await openPair(policy, { random: () => random });
    await push("west", 2);
    await ask();
    source.forget();
    source.failure = new Error("connection refused");
    const requestedAt: number[] = [];
    for (let at = 0; at < 5000; at += 50) {
      const before = source.states.length;
      secondary.freshen(clock.now());
      await clock.advance(50);
      if (source.states.length > before) requestedAt.push(at);
    }
    expect(requestedAt.slice(0, 2)).toEqual([pauses.refresh, pauses.refresh + pauses.retry]);
  });

  it("a hundred secondaries that began together do not send their requests together", async () => {
    const { clock, source, push, open, ask } = await openPair({ refresh: 1000 });
    await push("west", 2);
    const many = Array.from({ length: 100 }, (_, index) => open({ random: seeded(index * 7919) }));
    for (const one of many) await ask(undefined, undefined, one);
    source.states.length = 0;
    const most = { asked: 0 };
    for (let at = 0; at < 10_000; at += 50) {
      const before = source.states.length;
      for (const one of many) one.freshen(clock.now());
      await clock.advance(50);
      most.asked = Math.max(most.asked, source.states.length - before);
    }
    expect(source.states.length).toBeGreaterThan(800);
    expect(most.asked).toBeLessThan(30);
  });
});
