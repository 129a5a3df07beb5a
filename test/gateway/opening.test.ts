import { describe, expect, test } from "vitest";
import { Gateway } from "../../src/gateway/gateway.ts";
import type { GatewayEvent } from "../../src/gateway/gateway-events.ts";
import { DamageCounters } from "../../src/store/damage-counters.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import {
  createMemoryRememberedStore,
  type RememberedStore,
} from "../../src/store/remembered/remembered-store.ts";
import { FakeClock } from "./fake-clock.ts";
import { FakeStages, regional } from "./fake-stages.ts";
import { putSnapshot } from "./pushes.ts";

const COPY = { record: "exports@west", place: "precedence", lost: false, message: "it is empty" };

/** A gateway with everything in the test's hands. */
function open(parts: { damage?: DamageCounters; remembered?: RememberedStore; offset?: number } = {}) {
  const clock = Object.assign(new FakeClock(Date.UTC(2026, 5, 1)), { wallOffset: () => parts.offset ?? 0 });
  const store = createMemoryStore();
  const stages = new FakeStages(clock);
  const events: GatewayEvent[] = [];
  const dependencies = { store, clock, stages, onEvent: (event: GatewayEvent) => void events.push(event) };
  const done = async <Result>(promise: Promise<Result>): Promise<Result> => {
    promise.catch(() => {});
    await clock.advance(0);
    return promise;
  };
  return { clock, store, stages, events, done, dependencies: { ...dependencies, ...parts } };
}

/** A memory of which a copy is damaged. */
function damaged(): RememberedStore {
  const inner = createMemoryRememberedStore();
  return {
    ...inner,
    load: async (pack) => ({ ...(await inner.load(pack)), damage: [COPY] }),
  };
}

describe("a gateway that opens", () => {
  test.each([
    ["given", new DamageCounters()],
    ["its own", undefined],
  ])("counts what its memory lost with %s counters, and reports it", async (_, damage) => {
    const { events, dependencies } = open({
      remembered: damaged(),
      ...(damage === undefined ? {} : { damage }),
    });
    const gateway = await Gateway.open(dependencies);
    if (damage !== undefined) expect(gateway.damage).toBe(damage);
    const counts = Object.fromEntries(gateway.damage.counts());
    // The record of the first day is lost, too.
    expect(counts).toMatchObject({ memory: 1, "memory-lost": 1, snapshot: 0 });
    expect(events.map(({ event }) => event)).toEqual(["memory-damaged", "memory-lost"]);
    expect(events[0]).toMatchObject(COPY);
  });

  test("counts nothing where nothing is damaged", async () => {
    const { events, dependencies } = open();
    const gateway = await Gateway.open(dependencies);
    expect([...gateway.damage.counts().values()].every((count) => count === 0)).toBe(true);
    expect(events).toEqual([]);
  });

  test("serves what it loaded once it has started, and its leases are known before", async () => {
    const { dependencies, store, done, clock } = open();
    const before = await Gateway.open(dependencies);
    const { generation } = await done(putSnapshot(before, regional("west", "w"), { leaseSeconds: 60 }));
    const later = open();
    const gateway = await Gateway.load({ ...later.dependencies, store });
    expect(gateway.status().clusters).toMatchObject([{ clusterId: "west", generation }]);
    await gateway.started;
    expect(gateway.current(clock.now())?.generation.text).toBe("west:w");
  });

  test("starts without answers where what it loaded cannot be compiled, and says so", async () => {
    const { dependencies, store, done } = open();
    await done(putSnapshot(await Gateway.open(dependencies), regional("west", "w")));
    const later = open();
    later.stages.fails = new Error("cannot compile this");
    const gateway = await Gateway.open({ ...later.dependencies, store });
    expect(gateway.status()).toMatchObject({ ready: false, compileError: "cannot compile this" });
  });
});
