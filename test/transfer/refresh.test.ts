import { describe, expect, it } from "vitest";
import {
  DEFAULT_REFRESH_POLICY,
  type RefreshPolicy,
  refreshPolicy,
} from "../../src/transfer/refresh-policy.ts";
import { settle } from "../gateway/fake-clock.ts";
import { openPair, seeded } from "./pair.ts";

const { refresh, limit, wait } = DEFAULT_REFRESH_POLICY;

/** A pair whose secondary has just taken over an image. */
async function openFresh(policy: Partial<RefreshPolicy> = {}) {
  const pair = await openPair(policy);
  await pair.push("west", 2);
  await pair.ask();
  pair.source.states.length = 0;
  pair.source.images.length = 0;
  return pair;
}

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
    source.stateLatency = source.imageLatency = 50;
    expect((await ask()).addresses).toHaveLength(2);
    await clock.advance(100);
    expect((await ask()).addresses).toHaveLength(3);
    expect(source.images).toHaveLength(1);
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

  it("an image that did not change is not transferred again, renewed leases are", async () => {
    const { clock, gateway, source, ask, push } = await openFresh();
    const { generation, expiresAt } = await push("west", 2, 10);
    clock.stall(5000);
    expect((await ask()).ttl).toBe(Math.floor((expiresAt - clock.now()) / 1000));
    await gateway.renew("west", generation, 60);
    clock.stall(5000);
    expect((await ask()).ttl).toBe(30);
    expect(source.images).toEqual([]);
  });
});

describe("one secondary asks once", () => {
  it("for all queries that come while the background asks", async () => {
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
    source.imageLatency = 40;
    clock.stall(limit + 1);
    const started = clock.now();
    const waiting = Array.from({ length: 100 }, () => secondary.freshen(clock.now())!);
    await done(Promise.all(waiting));
    expect(source).toMatchObject({ states: [refresh], images: [secondary.status().imageHash] });
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

describe("one who waits", () => {
  it("waits for the time that is set at the most, then answers and says that it is stale", async () => {
    const { clock, source, ask, events } = await openFresh();
    clock.stall(limit + 1);
    source.imageLatency = source.stateLatency = 3000;
    const started = clock.now();
    expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [3], freshness: 1 });
    expect(clock.now() - started).toBe(wait);
    expect(events.at(-1)).toEqual({ event: "stale", since: started - limit - 1 });
  });

  it("does not wait for somebody whose request was cancelled, but asks itself", async () => {
    const { clock, source, secondary, ask } = await openFresh();
    clock.stall(limit + 1);
    source.hangs = true;
    // Cancelled: nobody awaits it, and its answer never comes.
    secondary.freshen(clock.now());
    await settle();
    source.hangs = false;
    const started = clock.now();
    expect(await ask()).toMatchObject({ errors: [] });
    expect(clock.now() - started).toBeLessThan(wait / 2);
    expect(source.states).toHaveLength(2);
  });

  it("nor for somebody who was cancelled while the image came", async () => {
    const { clock, source, secondary, ask, push } = await openFresh({ imageTimeout: 2000 });
    await push("west", 3);
    clock.stall(limit + 1);
    secondary.freshen(clock.now());
    source.hangs = true;
    await settle();
    source.hangs = false;
    expect(await ask()).toMatchObject({ errors: [] });
    expect(source.states).toHaveLength(2);
  });

  it("waits longer for the very first image", async () => {
    const { push, open, source, clock, ask } = await openPair({ firstWait: 3000 });
    await push("west", 2);
    source.stateLatency = 900;
    source.imageLatency = 1500;
    const started = clock.now();
    expect(await ask(undefined, undefined, open())).toMatchObject({ rcode: "NOERROR", errors: [] });
    expect(clock.now() - started).toBe(2400);
  });

  it("hands what outlives it to the request that it came with", async () => {
    const { clock, source, secondary } = await openFresh();
    const kept: Promise<void>[] = [];
    source.stateLatency = 2 * wait;
    for (const age of [refresh, limit]) {
      clock.stall(age);
      secondary.freshen(clock.now(), (work) => void kept.push(work));
      await clock.advance(3 * wait);
    }
    expect(kept).toHaveLength(2);
    await Promise.all(kept);
  });
});

describe("what fails", () => {
  const gone = new Error("connection refused");

  it("keeps the last image, which says that it is stale once it is older than the limit", async () => {
    const { clock, source, secondary, ask, events } = await openFresh();
    const since = clock.now();
    source.failure = gone;
    await clock.advance(limit);
    expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [], freshness: 30 });
    expect(secondary.status().staleSince).toBeUndefined();
    await clock.advance(1);
    expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [3], freshness: 1 });
    expect(await ask("new.shop.svc.clusterset.local")).toMatchObject({ rcode: "NXDOMAIN", errors: [19] });
    expect(secondary.status()).toMatchObject({ ready: true, staleSince: since, transferError: gone.message });

    source.failure = undefined;
    await clock.advance(DEFAULT_REFRESH_POLICY.longestRetry * 2);
    expect(await ask()).toMatchObject({ errors: [], freshness: 30 });
    expect(secondary.status()).not.toHaveProperty("staleSince");
    expect(secondary.status()).not.toHaveProperty("transferError");
    const said = ["transferred", "transfer-failed", "stale", "fresh-again"];
    expect([...new Set(events.map(({ event }) => event))]).toEqual(said);
  });

  it("is tried again after pauses that double, up to the longest", async () => {
    const { clock, source, secondary } = await openFresh({ retry: 1000, longestRetry: 8000 });
    source.failure = gone;
    const asked: number[] = [];
    const started = clock.now();
    for (let at = 0; at < 60_000; at += 100) {
      const before = source.states.length;
      secondary.freshen(clock.now());
      await clock.advance(100);
      if (source.states.length > before) asked.push(at);
    }
    expect(clock.now() - started).toBe(60_000);
    const pauses = asked.slice(1).map((at, index) => at - asked[index]!);
    expect(asked[0]).toBe(1000);
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 8000, 8000, 8000, 8000, 8000].slice(0, pauses.length));
    expect(pauses.length).toBeGreaterThan(7);
  });

  it("costs nobody who comes in a pause any time", async () => {
    const { clock, source, ask } = await openFresh({ retry: 5000 });
    source.failure = gone;
    await clock.advance(limit + 1);
    await ask();
    const started = clock.now();
    source.states.length = 0;
    for (let query = 0; query < 20; query++) expect(await ask()).toMatchObject({ errors: [3] });
    expect(clock.now()).toBe(started);
    expect(source.states).toEqual([]);
  });

  it("is a primary that takes too long, for the state or for the image", async () => {
    const { clock, source, secondary, push, ask, events } = await openFresh({
      stateTimeout: 400,
      imageTimeout: 600,
    });
    source.stateLatency = 500;
    clock.stall(refresh);
    await ask();
    await clock.advance(401);
    expect(secondary.status().transferError).toBe("the primary did not say its state within 400 ms");
    source.stateLatency = 0;
    source.imageLatency = 700;
    await push("west", 3);
    await clock.advance(1000);
    await ask();
    await clock.advance(601);
    expect(secondary.status().transferError).toBe("the image was not transferred within 600 ms");
    expect(events.slice(1)).toMatchObject([
      { event: "transfer-failed", retryIn: 1000 },
      { event: "transfer-failed", retryIn: 2000 },
    ]);
  });

  it("does not set off again what somebody else brought meanwhile", async () => {
    const { clock, source, secondary, ask } = await openFresh();
    clock.stall(limit + 1);
    source.stateLatency = 900;
    secondary.freshen(clock.now());
    await clock.advance(300);
    source.stateLatency = 0;
    expect(await ask()).toMatchObject({ errors: [] });
    const { asOf } = { asOf: clock.now() };
    source.failure = new Error("late");
    await clock.advance(600);
    expect(secondary.status()).not.toHaveProperty("transferError");
    clock.stall(limit - (clock.now() - asOf));
    source.failure = undefined;
    expect(await ask()).toMatchObject({ errors: [] });
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

  it("a hundred secondaries that began together do not ask together", async () => {
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
});
