import { describe, expect, it, vi } from "vitest";
import { DEFAULT_REFRESH_POLICY } from "../../src/transfer/refresh-schedule.ts";
import type { TransferState } from "../../src/transfer/transfer-state.ts";
import { settle } from "../gateway/fake-clock.ts";
import { answerNow } from "../gateway/open-keyed.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { extendedErrors } from "../resolve/extended-errors.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { openFresh, openPair, WEB } from "./pair.ts";

const { refresh, limit, wait } = DEFAULT_REFRESH_POLICY;

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

describe("a query that waits", () => {
  it("waits for the time that is set at the most, then answers and says that it is stale", async () => {
    const { clock, source, ask, events } = await openFresh({ stateTimeout: 10_000 });
    clock.stall(limit + 1);
    source.stateLatency = 3000;
    const started = clock.now();
    expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [3], freshness: 1 });
    expect(clock.now() - started).toBe(wait);
    expect(events.at(-1)).toEqual({ event: "stale", since: started - limit - 1 });
  });

  it("sends a request of its own where the request that it waits for was cancelled", async () => {
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

  it("does not wait for a request that was cancelled while a part came", async () => {
    const { clock, source, secondary, ask, push } = await openFresh({ partTimeout: 2000 });
    await push("east", 3);
    clock.stall(limit + 1);
    secondary.freshen(clock.now());
    source.hangs = true;
    await settle();
    source.hangs = false;
    expect(await ask()).toMatchObject({ errors: [] });
    expect(source.states).toHaveLength(2);
  });

  it("does not wait for changed keys that take long: what else is new counts", async () => {
    const { clock, source, secondary, push } = await openFresh();
    await push("west", 3);
    clock.stall(limit + 1);
    expect(secondary.status()).toHaveProperty("staleSince");
    source.forget();
    source.partLatency = () => 5000;
    secondary.freshen(clock.now());
    await settle();
    expect(source.kinds).toEqual(["key"]);
    await clock.advance(400);
    expect(secondary.status()).not.toHaveProperty("staleSince");
  });

  it("waits longer for the very first state, for which a primary that starts has more time", async () => {
    const policy = { firstWait: 4000, stateTimeout: 1000 };
    const { push, source, clock, ask, secondary } = await openPair(policy);
    await push("west", 2);
    source.stateLatency = 2500;
    source.partLatency = () => 700;
    const started = clock.now();
    expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [] });
    expect(clock.now() - started).toBe(2500 + 2 * 700);
    clock.stall(limit + 1);
    await ask();
    expect(secondary.status().transferError).toBe("the primary did not send its state within 1000 ms");
  });

  it("waits where nothing can be answered, though that was said a while ago at most", async () => {
    const { push, source, clock, ask } = await openPair();
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL", errors: [14] });
    await push("west", 2);
    // What is young is answered from, so that many queries do not become many questions.
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL" });
    expect(source.states).toHaveLength(1);
    clock.stall(refresh * 1.25);
    const answers = await Promise.all([1, 2, 3].map(() => ask()));
    for (const answer of answers) expect(answer).toMatchObject({ rcode: "NOERROR", errors: [] });
    expect(source.states).toHaveLength(2);
  });

  it("waits for what is newer than a change that it knows of, even if a state is kept for others", async () => {
    const { push, source, clock, ask, secondary } = await openPair();
    await push("west", 2);
    source.keeps = true;
    expect(await ask()).toMatchObject({ addresses: { length: 2 } });
    clock.stall(5);
    await push("west", 3);
    expect(await ask()).toMatchObject({ addresses: { length: 2 } });
    secondary.expire(clock.now());
    expect(await ask()).toMatchObject({
      addresses: { length: 3 },
      errors: [],
    });
    expect(await ask()).toMatchObject({ addresses: { length: 3 } });
    expect(source.states).toHaveLength(2);
  });

  it("waits for a change that comes while an older one is being fetched", async () => {
    const { clock, source, secondary, ask, push, done } = await openFresh();
    source.stateLatency = 20;
    secondary.expire(clock.now());
    const first = secondary.freshen(clock.now())!;
    await clock.advance(10);
    await push("west", 3);
    secondary.expire(clock.now());
    await done(first);
    expect(secondary.freshen(clock.now())).toBeDefined();
    expect(await ask()).toMatchObject({ addresses: { length: 3 } });
    expect(secondary.freshen(clock.now())).toBeUndefined();
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

  it.each([
    ["a quarter less", 0, 0.75],
    ["neither more nor less", 0.5, 1],
    ["a quarter more", 1 - Number.EPSILON, 1.25],
  ])(
    "is tried again after pauses that double, up to the longest, by chance %s",
    async (_, random, factor) => {
      const policy = { refresh: 1000, retry: 1000, longestRetry: 8000 };
      const { clock, source, secondary, push, ask } = await openPair(policy, { random: () => random });
      await push("west", 2);
      await ask();
      source.failure = gone;
      const asked: number[] = [0];
      for (let at = 0; at < 60_000; at += 50) {
        const before = source.states.length;
        secondary.freshen(clock.now());
        await clock.advance(50);
        if (source.states.length > before) asked.push(at);
      }
      const pauses = asked.slice(1).map((at, index) => (at - asked[index]!) / factor);
      expect(pauses.slice(0, 6)).toEqual([1000, 1000, 2000, 4000, 8000, 8000]);
    },
  );

  it("costs nobody who comes in a pause any time", async () => {
    const { clock, source, secondary, ask } = await openFresh({ retry: 5000 });
    source.failure = gone;
    await clock.advance(limit + 1);
    await ask();
    const started = clock.now();
    source.states.length = 0;
    expect(secondary.freshen(clock.now())).toBeUndefined();
    for (let query = 0; query < 20; query++) expect(await ask()).toMatchObject({ errors: [3] });
    expect(clock.now()).toBe(started);
    expect(source.states).toEqual([]);
  });

  it("is not in the log for each query whose part cannot be had", async () => {
    const { clock, source, ask, events } = await openFresh({ retry: 5000 });
    source.failure = gone;
    await clock.advance(limit + 1);
    events.length = 0;
    const askAll = async () => {
      for (let query = 0; query < 20; query++)
        expect(await ask(`other-${query}.shop.svc.clusterset.local`)).toMatchObject({ rcode: "SERVFAIL" });
      return events.filter(({ event }) => event === "part-unavailable").length;
    };
    expect(await askAll()).toBe(1);
    await clock.advance(1000);
    expect(await askAll()).toBe(2);
  });

  it("is a primary that takes too long, for the state or for a part", async () => {
    const { clock, source, secondary, push, ask, events } = await openFresh({
      stateTimeout: 400,
      partTimeout: 600,
    });
    source.stateLatency = 500;
    clock.stall(refresh);
    await ask();
    await clock.advance(401);
    expect(secondary.status().transferError).toBe("the primary did not send its state within 400 ms");
    expect(source.givenUp).toBe(1);
    source.stateLatency = 0;
    source.partLatency = () => 700;
    await push("east", 3);
    await clock.advance(1000);
    await ask();
    await clock.advance(601);
    expect(secondary.status().transferError).toBe("the primary did not send a part within 600 ms");
    expect(events).toMatchObject([
      { event: "transfer-failed", retryIn: 1000 },
      { event: "transfer-failed", retryIn: 2000 },
    ]);
  });
});

it("a key of a cluster whose lease is not known yet is answered as stale where the newer state does not come", async () => {
  const { source, push, ask } = await openPair();
  await push("west", 1);
  await ask("none.shop.svc.clusterset.local");
  await push("east", 1);
  source.stateLatency = Number.MAX_SAFE_INTEGER;
  expect(await ask(`web-0.east.${WEB}`)).toMatchObject({ rcode: "NOERROR", errors: [3], ttl: 0 });
});

it("a state that cannot be right is a failure", async () => {
  const { source, secondary, push, ask } = await openPair();
  await push("west", 2);
  source.changeState = (state) => ({ ...state, world: undefined });
  expect(await ask()).toMatchObject({ rcode: "SERVFAIL" });
  expect(secondary.status().transferError).toBe("the primary is ready, but names no world");
});

it.each([-900, 900])(
  "clocks may differ by %d milliseconds: nothing is younger than its request",
  async (ahead) => {
    const { clock, source, secondary, push, ask } = await openPair();
    await push("west", 2);
    source.changeState = (state) => ({ ...state, at: state.at + ahead });
    const asked = clock.now();
    await ask(WEB);
    source.failure = new Error("unreachable");
    clock.stall(4001);
    expect(secondary.status().staleSince).toBe(asked + Math.min(0, ahead));
  },
);

it("a lease that ends while the primary cannot write leaves stale answers that are not cached, and ends with the next change that is written", async () => {
  const { clock, held, push, ask } = await openPair();
  await push("west", 3, 10);
  await push("east", 1, 3600);
  expect(await ask()).toMatchObject({ addresses: ["10.0.0.0", "10.0.0.1", "10.0.0.2"], errors: [] });
  const failure = Object.assign(new Error("database or disk is full"), {
    code: "ERR_SQLITE_ERROR",
    errcode: 13,
  });
  const writing = vi.spyOn(held.database, "atomically").mockImplementation(() => {
    throw failure;
  });
  await clock.advance(30_000);
  expect(await ask()).toMatchObject({ ttl: 0, errors: [3] });
  writing.mockRestore();
  await held.put({ ...shopSnapshot("east", 1), exports: {} }, 3600);
  await push("east", 1, 3600);
  await clock.advance(10_000);
  expect(await ask()).toMatchObject({ addresses: ["10.0.0.0"], ttl: 30, errors: [] });
});

it("a secondary takes over what a worker reports, and its end as well", async () => {
  const { clock, gateway, secondary, done, push, ask } = await openPair();
  await push("west", 1);
  const { generation } = gateway.everything.status().clusters[0]!;
  await done(
    gateway.renew("west", generation, {
      leaseSeconds: 60,
      report: { degraded: [{ reason: "API_UNREACHABLE", seconds: 30 }] },
    }),
  );
  await ask();
  const degradedOf = () => secondary.status().clusters[0]!.degraded;
  expect(degradedOf()).toEqual(gateway.everything.status().clusters[0]!.degraded);
  expect(degradedOf()).toHaveLength(1);
  await done(gateway.renew("west", generation));
  // The first query after a while fetches the state for the next one.
  for (let query = 0; query < 2; query++) {
    await clock.advance(2000);
    await ask();
  }
  expect(degradedOf()).toBeUndefined();
});

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
