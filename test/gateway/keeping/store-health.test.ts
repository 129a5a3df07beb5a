import { describe, expect, it } from "vitest";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import { KeyedQueue } from "../../../src/gateway/keeping/keyed-queue.ts";
import { Removals } from "../../../src/gateway/keeping/removals.ts";
import { StoreHealth } from "../../../src/gateway/keeping/store-health.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { FakeClock, settle } from "../fake-clock.ts";

const full = () => Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
const works = async () => {};
const fails = () => Promise.reject(full());
const closed = () => Promise.reject(new Error("the store is closed"));

function openHealth(waits: (clusterId: string) => boolean = () => true) {
  const clock = new FakeClock(1_000_000);
  const events: GatewayEvent[] = [];
  const health = new StoreHealth(clock, (event) => void events.push(event), waits);
  return { clock, events, health };
}

describe("a store that fails", () => {
  it("is in trouble since the first failure, which is logged once", async () => {
    const { clock, events, health } = openHealth();
    expect([health.trouble, health.isHealthy]).toEqual([undefined, true]);
    await expect(health.must("west", fails)).rejects.toMatchObject({ code: "STORE_FULL" });
    clock.stall(5000);
    await expect(health.must("east", fails)).rejects.toMatchObject({ code: "STORE_FULL" });
    expect(health.trouble).toEqual({ reason: expect.any(String), since: 1_000_000 });
    expect(health.isHealthy).toBe(false);
    expect(events).toMatchObject([{ event: "store-failed", clusterId: "west", error: { code: "ENOSPC" } }]);
  });

  it("is in trouble with what the store itself says, such as that its server is gone", async () => {
    const { health } = openHealth();
    const gone = new StoreError("STORE_FAILED", "the server is gone");
    await expect(health.must("west", () => Promise.reject(gone))).rejects.toBe(gone);
    expect(health.trouble?.reason).toBe("the server is gone");
    const other = StoreError.noSnapshot("east");
    await expect(health.must("east", () => Promise.reject(other))).rejects.toBe(other);
    await health.must("west", works);
    expect(health.trouble).toBeUndefined();
  });

  it("works again once every cluster whose write failed has written", async () => {
    const { events, health } = openHealth();
    for (const id of ["west", "east"])
      expect(await health.attempt(id, fails)).toMatchObject({ code: "STORE_FULL" });
    await health.must("north", works);
    await health.must("west", works);
    expect(health.isHealthy).toBe(false);
    expect(await health.attempt("east", works)).toBeUndefined();
    expect([health.trouble, health.isHealthy]).toEqual([undefined, true]);
    expect(events.map(({ event }) => event)).toEqual(["store-failed", "store-works-again"]);
    await health.must("west", works);
    expect(events).toHaveLength(2);
  });

  it("does not wait for clusters that will not write again", async () => {
    const { health } = openHealth((clusterId) => clusterId !== "gone");
    await health.attempt("gone", fails);
    await health.must("west", works);
    expect(health.isHealthy).toBe(true);
  });

  it("with something else than its disk is not in trouble, but is not expected to work until it has", async () => {
    const { events, health } = openHealth();
    await expect(health.must("west", closed)).rejects.toThrow("the store is closed");
    await expect(health.attempt("west", closed)).rejects.toThrow("the store is closed");
    expect([health.trouble, health.isHealthy, events]).toEqual([undefined, false, []]);
    await health.must("east", works);
    expect(health.isHealthy).toBe(true);
  });
});

describe("a cluster that the disk keeps", () => {
  function openRemovals() {
    const { clock, events, health } = openHealth();
    const held = { remove: fails as () => Promise<void>, live: new Set<string>() };
    const tried: string[] = [];
    const removals = new Removals({
      ...{ clock, health, queue: new KeyedQueue(), isLive: (clusterId) => held.live.has(clusterId) },
      onEvent: (event) => void events.push(event),
      remove: (clusterId) => {
        tried.push(clusterId);
        return held.remove();
      },
    });
    const logged = () => events.filter(({ event }) => event === "removal-failed");
    return { clock, events, held, tried, removals, logged };
  }

  it("is tried again every ten seconds until it is gone, and logged once", async () => {
    const { clock, held, tried, removals, logged } = openRemovals();
    expect(await removals.remove("west")).toMatchObject({ code: "STORE_FULL" });
    expect(await removals.remove("east")).toMatchObject({ code: "STORE_FULL" });
    expect([removals.owes("west"), removals.owes("north"), clock.timers]).toEqual([true, false, 1]);
    await clock.advance(9_999);
    expect(tried).toEqual(["west", "east"]);
    await clock.advance(1);
    expect(tried).toEqual(["west", "east", "west", "east"]);
    held.remove = works;
    await clock.advance(10_000);
    expect(tried).toHaveLength(6);
    expect([removals.owes("west"), removals.owes("east")]).toEqual([false, false]);
    await clock.advance(60_000);
    expect(tried).toHaveLength(6);
    expect(logged()).toMatchObject([{ clusterId: "west" }, { clusterId: "east" }]);
  });

  it("is not removed once it has pushed again", async () => {
    const { clock, held, tried, removals } = openRemovals();
    await removals.remove("west");
    held.live.add("west");
    await clock.advance(60_000);
    expect([tried, removals.owes("west")]).toEqual([["west"], false]);
  });

  it("is not tried again after the gateway is closed", async () => {
    const { clock, tried, removals } = openRemovals();
    await removals.remove("west");
    removals.close();
    expect(clock.timers).toBe(0);
    await removals.remove("east");
    expect(clock.timers).toBe(0);
    expect(tried).toEqual(["west", "east"]);
    const never = openRemovals();
    never.removals.close();
    await never.removals.remove("west");
    expect(never.clock.timers).toBe(0);
  });

  it("is logged as well where a later try fails with something else than the disk", async () => {
    const { clock, held, removals, logged } = openRemovals();
    await removals.remove("west");
    held.remove = closed;
    await clock.advance(10_000);
    expect(logged()).toMatchObject([{}, { clusterId: "west", error: { message: "the store is closed" } }]);
    await expect(removals.remove("east")).rejects.toThrow("the store is closed");
  });
});

describe("a queue by keys", () => {
  it("runs tasks of one key one after the other, whether they fail or not, and others side by side", async () => {
    const queue = new KeyedQueue();
    const log: string[] = [];
    const ends: (() => void)[] = [];
    const task =
      (name: string, failing = false) =>
      () => {
        log.push(name);
        return new Promise<string>((resolve, reject) =>
          ends.push(() => (failing ? reject(new Error(name)) : resolve(name))),
        );
      };
    const first = queue.run("a", task("a1", true));
    const second = queue.run("a", task("a2"));
    const other = queue.run("b", task("b1"));
    const idle = queue.idle().then(() => log.push("idle"));
    await settle();
    expect(log).toEqual(["a1", "b1"]);
    ends[0]!();
    await expect(first).rejects.toThrow("a1");
    await settle();
    expect(log).toEqual(["a1", "b1", "a2"]);
    ends[1]!();
    ends[2]!();
    expect([await other, await second]).toEqual(["b1", "a2"]);
    await idle;
    expect(log.at(-1)).toBe("idle");
    await queue.idle();
    const last = queue.run("a", task("a3"));
    await settle();
    ends[3]!();
    expect(await last).toBe("a3");
  });
});
