import { describe, expect, it } from "vitest";
import { DEFAULT_REFRESH_POLICY } from "../../src/transfer/refresh-schedule.ts";
import { settle } from "../gateway/fake-clock.ts";
import { openFresh, openPair } from "./pair.ts";

const { refresh, limit, wait } = DEFAULT_REFRESH_POLICY;

describe("one who waits", () => {
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

  it("nor for somebody who was cancelled while a part came", async () => {
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

  it("waits longer for the very first state", async () => {
    const { push, open, source, clock, ask } = await openPair({ firstWait: 3000 });
    await push("west", 2);
    source.stateLatency = 900;
    source.partLatency = () => 700;
    const started = clock.now();
    expect(await ask(undefined, undefined, open())).toMatchObject({ rcode: "NOERROR", errors: [] });
    expect(clock.now() - started).toBe(900 + 2 * 700);
  });

  it("gives a primary that starts more time for its first state than for later ones", async () => {
    const { push, open, source, clock, ask } = await openPair({ firstWait: 3000, stateTimeout: 1000 });
    await push("west", 2);
    source.stateLatency = 2500;
    const secondary = open();
    const started = clock.now();
    expect(await ask(undefined, undefined, secondary)).toMatchObject({ rcode: "NOERROR", errors: [] });
    expect(clock.now() - started).toBe(2500);
    clock.stall(limit + 1);
    await ask(undefined, undefined, secondary);
    expect(secondary.status().transferError).toBe("the primary did not send its state within 1000 ms");
  });

  it("waits where nothing can be answered, though that was said a while ago at most", async () => {
    const { push, open, source, clock, ask } = await openPair();
    const secondary = open();
    expect(await ask(undefined, undefined, secondary)).toMatchObject({ rcode: "SERVFAIL", errors: [14] });
    await push("west", 2);
    // What is young is answered from, so that many queries do not become many questions.
    expect(await ask(undefined, undefined, secondary)).toMatchObject({ rcode: "SERVFAIL" });
    expect(source.states).toHaveLength(1);
    clock.stall(refresh * 1.25);
    const answers = await Promise.all([1, 2, 3].map(() => ask(undefined, undefined, secondary)));
    for (const answer of answers) expect(answer).toMatchObject({ rcode: "NOERROR", errors: [] });
    expect(source.states).toHaveLength(2);
  });

  it("waits for what is newer than a change that it knows of, even if a state is kept for others", async () => {
    const { push, open, source, clock, ask } = await openPair();
    await push("west", 2);
    source.keeps = true;
    const secondary = open();
    expect(await ask(undefined, undefined, secondary)).toMatchObject({ addresses: { length: 2 } });
    clock.stall(5);
    await push("west", 3);
    expect(await ask(undefined, undefined, secondary)).toMatchObject({ addresses: { length: 2 } });
    secondary.expire(clock.now());
    expect(await ask(undefined, undefined, secondary)).toMatchObject({
      addresses: { length: 3 },
      errors: [],
    });
    expect(await ask(undefined, undefined, secondary)).toMatchObject({ addresses: { length: 3 } });
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
