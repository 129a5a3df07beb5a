import { describe, expect, it } from "vitest";
import { DEFAULT_REFRESH_POLICY } from "../../src/transfer/refresh-policy.ts";
import { openFresh } from "./pair.ts";

const { refresh, limit } = DEFAULT_REFRESH_POLICY;

describe("what fails", () => {
  const gone = new Error("connection refused");

  it("keeps the last generation, which says that it is stale once it is older than the limit", async () => {
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

  it("is forgotten after a success: the pauses begin anew", async () => {
    const { clock, source, secondary, events } = await openFresh({ retry: 1000, longestRetry: 8000 });
    const failOnce = async () => {
      source.failure = gone;
      await clock.advance(10_000);
      secondary.freshen(clock.now());
      await clock.advance(1);
    };
    await failOnce();
    await failOnce();
    source.failure = undefined;
    await clock.advance(10_000);
    secondary.freshen(clock.now());
    await clock.advance(1);
    await failOnce();
    expect(events.slice(1)).toMatchObject([{ retryIn: 1000 }, { retryIn: 2000 }, { retryIn: 1000 }]);
  });

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

  it("is a primary that takes too long, for the state or for the root", async () => {
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
    source.rootLatency = 700;
    await push("west", 3);
    await clock.advance(1000);
    await ask();
    await clock.advance(601);
    expect(secondary.status().transferError).toBe("the root was not transferred within 600 ms");
    expect(events.slice(1)).toMatchObject([
      { event: "transfer-failed", retryIn: 1000 },
      { event: "transfer-failed", retryIn: 2000 },
    ]);
  });

  it("to be in time does not replace what is newer", async () => {
    const { clock, source, secondary, push, ask, done } = await openFresh({ partTimeout: 4000 });
    await push("west", 3);
    clock.stall(limit + 1);
    source.rootLatency = 3000;
    const late = done(secondary.freshen(clock.now())!);
    await clock.advance(2000);
    source.rootLatency = 0;
    await push("west", 4);
    expect((await ask()).addresses).toHaveLength(4);
    await clock.advance(1500);
    await late;
    expect((await ask()).addresses).toHaveLength(4);
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
