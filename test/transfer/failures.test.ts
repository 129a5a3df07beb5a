import { describe, expect, it } from "vitest";
import { DEFAULT_REFRESH_POLICY } from "../../src/transfer/refresh-schedule.ts";
import { openFresh, openPair, WEB } from "./pair.ts";

const { refresh, limit } = DEFAULT_REFRESH_POLICY;

describe("what fails", () => {
  const gone = new Error("connection refused");

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
