import { describe, expect, it } from "vitest";
import { DEFAULT_REFRESH_POLICY, refreshPolicy } from "../../src/transfer/refresh-policy.ts";
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

  it("a change is answered in the background, then at once", async () => {
    const { clock, push, ask, source } = await openFresh();
    await push("west", 3);
    expect((await ask()).addresses).toHaveLength(2);
    clock.stall(refresh);
    source.stateLatency = source.rootLatency = 50;
    expect((await ask()).addresses).toHaveLength(2);
    await clock.advance(100);
    expect((await ask()).addresses).toHaveLength(3);
    expect(source.roots).toHaveLength(1);
  });

  it("a state is younger than what is here when several share it, and never older than refresh", async () => {
    const { clock, source, ask } = await openFresh({ refresh: 1000 });
    for (const age of [1000, 3000]) {
      clock.stall(age);
      await ask();
      await settle();
    }
    const sooner = await openFresh({ refresh: 1000 });
    const early = sooner.open({ random: () => 0 });
    await sooner.ask(undefined, undefined, early);
    sooner.clock.stall(800);
    await sooner.ask(undefined, undefined, early);
    expect([source.states, sooner.source.states]).toEqual([
      [999, 1000],
      [1000, 799],
    ]);
  });

  it("a generation that did not change is not transferred again, renewed leases are", async () => {
    const { clock, gateway, source, ask, push } = await openFresh();
    const { generation, expiresAt } = await push("west", 2, 10);
    clock.stall(5000);
    expect((await ask()).ttl).toBe(Math.floor((expiresAt - clock.now()) / 1000));
    await gateway.renew("west", generation, { leaseSeconds: 60 });
    clock.stall(5000);
    expect((await ask()).ttl).toBe(30);
    expect(source.roots).toEqual([]);
  });
});

describe("one secondary sends one request", () => {
  it("for all queries that come while one is in flight", async () => {
    const { clock, source, secondary } = await openFresh();
    source.stateLatency = 500;
    clock.stall(refresh);
    for (let query = 0; query < 100; query++) expect(secondary.freshen(clock.now())).toBeUndefined();
    await clock.advance(500);
    expect(source.states).toHaveLength(1);
  });

  it("for all that wait, who get the newest as soon as it is there", async () => {
    const { clock, source, secondary, push, done } = await openFresh();
    await push("west", 3);
    source.stateLatency = 40;
    source.rootLatency = 40;
    clock.stall(limit + 1);
    const started = clock.now();
    const waiting = Array.from({ length: 100 }, () => secondary.freshen(clock.now())!);
    await done(Promise.all(waiting));
    expect(source).toMatchObject({ states: [refresh], roots: [secondary.status().rootHash] });
    expect(clock.now() - started).toBeLessThanOrEqual(80 + 80);
  });

  it("for all that wait, though the host awaits them in another order", async () => {
    const { clock, source, secondary, done } = await openFresh();
    source.stateLatency = 100;
    clock.stall(limit + 1);
    secondary.freshen(clock.now());
    await clock.advance(10);
    await done(secondary.freshen(clock.now())!);
    expect(source.states).toHaveLength(1);
  });
});

describe("jitter", () => {
  it.each([
    ["least", 0, 750],
    ["middle", 0.5, 1000],
    ["most", 0.999999, 1250],
  ])("refresh is spread by a quarter: %s", async (_, random, due) => {
    const { clock, source, push, open, ask } = await openPair({ refresh: 1000 });
    await push("west", 2);
    const one = open({ random: () => random });
    await ask(undefined, undefined, one);
    source.states.length = 0;
    clock.stall(due - 2);
    one.freshen(clock.now());
    expect(source.states).toEqual([]);
    clock.stall(2);
    one.freshen(clock.now());
    expect(source.states).toHaveLength(1);
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

describe("policies that do not go together", () => {
  it.each([
    [{ refresh: 4000 }, "refresh (4000 ms) and a quarter more must not be above limit (4000 ms)"],
    [{ wait: -1 }, "wait must be a number of milliseconds, not -1"],
    [{ retry: Number.NaN }, "retry must be a number of milliseconds, not NaN"],
  ])("%j", (changes, message) => {
    expect(() => refreshPolicy(changes)).toThrow(new RangeError(message));
  });

  it("a refresh of four fifths of the limit, and times of 0, do", () => {
    const changes = { refresh: 3200, limit: 4000, wait: 0, retry: 0 };
    expect(refreshPolicy(changes)).toMatchObject(changes);
  });
});
