import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_REFRESH_POLICY } from "../../src/transfer/refresh-policy.ts";
import { settle } from "../gateway/fake-clock.ts";
import { openFresh, openPair } from "./pair.ts";

const { refresh, limit, wait } = DEFAULT_REFRESH_POLICY;

describe("one who waits", () => {
  it("waits for the time that is set at the most, then answers and says that it is stale", async () => {
    const { clock, source, ask, events } = await openFresh({ stateTimeout: 10_000 });
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

  it("keeps its process alive as long as it waits", () => {
    const program = join(import.meta.dirname, "hanging-source-program.ts");
    expect(execFileSync(process.execPath, [program], { encoding: "utf8" })).toBe(
      "the primary did not say its state within 20 ms\n",
    );
  });
});
