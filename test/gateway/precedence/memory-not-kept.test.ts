import { describe, expect, it } from "vitest";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import { ReverseMemory } from "../../../src/gateway/remembered/reverse-memory.ts";
import { SeenCluster } from "../../../src/gateway/remembered/seen-cluster.ts";
import { Sights } from "../../../src/gateway/remembered/sights.ts";
import { Turns } from "../../../src/gateway/turns.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import {
  createMemoryRememberedStore,
  type RememberedStore,
} from "../../../src/store/remembered/remembered-store.ts";
import { ClaimOrders } from "../../../src/zone/reverse/claim-orders.ts";
import { FakeClock } from "../fake-clock.ts";

/** A memory on a disk that can be full. */
function openMemory() {
  const inner = createMemoryRememberedStore();
  const disk = { isFull: false };
  const store: RememberedStore = {
    load: () => inner.load(),
    async keep(name, value) {
      if (disk.isFull) throw new Error("ENOSPC");
      await inner.keep(name, value);
    },
  };
  const events: GatewayEvent[] = [];
  const onEvent = (event: GatewayEvent) => void events.push(event);
  const records = () => events.map((event) => event.event === "memory-not-kept" && event.record);
  return { store, disk, onEvent, records };
}

const east = () =>
  new SeenCluster({ generation: 1, seenAt: 1, exports: new Map(), imports: new Map([["shop/web", 1]]) });

describe("memory that cannot be kept is reported once for each record until it is kept", () => {
  it("of clusters", async () => {
    const { store, disk, onEvent, records } = openMemory();
    const sights = new Sights(store, new Turns(new FakeClock()), onEvent);
    disk.isFull = true;
    sights.set("east", east());
    for (let renewal = 0; renewal < 3; renewal++) await sights.keep("east");
    expect(records()).toEqual(["exports@east"]);
    disk.isFull = false;
    await sights.keep("east");
    expect([...(await store.load()).values.keys()]).toEqual(["exports@east"]);
    disk.isFull = true;
    sights.set("east", east());
    await sights.keepAll();
    await sights.keepAll();
    expect(records()).toEqual(["exports@east", "exports@east"]);
  });

  it("of reverse names", async () => {
    const { store, disk, onEvent, records } = openMemory();
    const memory = ReverseMemory.from(store, new Map(), onEvent);
    const keep = (order: readonly string[]) => {
      drain(memory.update("", ClaimOrders.none.with(new Map([["0a000001", order]]))));
      return memory.kept();
    };
    disk.isFull = true;
    for (const order of [["a", "b"], ["b", "a"], ["a"]]) await keep(order);
    expect(records()).toEqual(["addresses@01"]);
    disk.isFull = false;
    await keep(["b"]);
    disk.isFull = true;
    await keep(["a", "b"]);
    await keep(["b", "a"]);
    expect(records()).toEqual(["addresses@01", "addresses@01"]);
  });
});
