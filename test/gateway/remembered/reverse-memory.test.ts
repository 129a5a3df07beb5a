import { describe, expect, it } from "vitest";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import { ReverseMemory, withoutClusters } from "../../../src/gateway/remembered/reverse-memory.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import type { RememberedStore } from "../../../src/store/remembered/remembered-store.ts";
import { ClaimOrders } from "../../../src/zone/reverse/claim-orders.ts";

const ordersOf = (orders: Record<string, readonly string[]>) =>
  ClaimOrders.none.with(new Map(Object.entries(orders)));
const hex = (number: number) => number.toString(16).padStart(8, "0");
const [A, B, C] = ["0a000001", "0a000002", "0a000041"] as const;
const V6 = `fd${"0".repeat(29)}1`;

function open(values: Record<string, unknown> = {}) {
  const written: [name: string, value: unknown][] = [];
  const disk = { fails: false };
  const events: GatewayEvent[] = [];
  const store = {
    async keep(name: string, value: unknown) {
      if (disk.fails) throw new Error("disk full");
      written.push([name, value]);
    },
  } as unknown as RememberedStore;
  const memory = ReverseMemory.from(
    store,
    new Map(Object.entries(values)),
    (event) => void events.push(event),
  );
  const keep = async (orders: ClaimOrders) => {
    drain(memory.update("", orders));
    await memory.kept();
    return written.splice(0);
  };
  return { memory, disk, events, keep };
}

describe("who reported an address first", () => {
  it("is read of the records of addresses, without those that are damaged", () => {
    const { memory } = open({
      "addresses@01": { [A]: ["west a/b", "east a/b"], [V6]: ["west a/b"] },
      "addresses@02": { [B]: "no order" },
      "addresses@03": { "0A000003": [], "0a00": [], "0a0000011": [] },
      "other@01": { [C]: ["west a/b"] },
    });
    const { orders, restored } = memory.history("", new Set(["west"]));
    expect([...orders].map(([address]) => address).sort()).toEqual([A, V6].sort());
    expect([orders.get(A), [...restored]]).toEqual([["west a/b", "east a/b"], ["west"]]);
  });

  it("is written by records of addresses with the same last bits, those alone that changed", async () => {
    const { keep } = open({ "addresses@01": { [C]: ["west a/b"] } });
    const west = ["west a/b", "east a/b"];
    const first = ordersOf({ [A]: west, [B]: west, [C]: ["west a/b"] });
    expect(await keep(first)).toEqual([
      ["addresses@01", { [A]: west, [C]: ["west a/b"] }],
      ["addresses@02", { [B]: west }],
    ]);
    expect(await keep(first)).toEqual([]);
    const second = first.with(new Map([[B, undefined]]));
    expect(await keep(second)).toEqual([["addresses@02", {}]]);
    expect(await keep(second.with(new Map([["0a0000ff", west]])))).toEqual([
      ["addresses@3f", { "0a0000ff": west }],
    ]);
  });

  it("that cannot be kept is reported once, and is written with the next change", async () => {
    const { keep, disk, events } = open();
    disk.fails = true;
    const orders = ordersOf({ [A]: ["west a/b"] });
    await keep(orders);
    await keep(orders);
    const event = { event: "memory-not-kept", record: "addresses@01", error: new Error("disk full") };
    expect(events).toEqual([event]);
    disk.fails = false;
    expect(await keep(orders)).toEqual([["addresses@01", { [A]: ["west a/b"] }]]);
    disk.fails = true;
    await keep(ordersOf({ [A]: ["east a/b"] }));
    expect(events).toEqual([event, event]);
  });

  it("is taken over in steps of 512 addresses, the newest orders first", () => {
    const { memory } = open();
    const many = Object.fromEntries(Array.from({ length: 1024 }, (_, index) => [hex(index), ["west a/b"]]));
    expect([...memory.update("", ordersOf(many))]).toHaveLength(2);
    expect([...memory.history("", new Set()).orders]).toHaveLength(1024);
    expect([...memory.update("", ordersOf({}))]).toHaveLength(2);
  });
});

describe("orders without a cluster that left", () => {
  const without = (orders: Record<string, readonly string[]>, live: readonly string[] = []) => {
    const left = drain(withoutClusters(ordersOf(orders), new Set(["west"]), (id) => live.includes(id)));
    return Object.fromEntries(left);
  };

  it("keep what other clusters claim, where several are left or a live one is", () => {
    expect(without({ [A]: ["west a/b", "east a/b", "north a/b"] })).toEqual({
      [A]: ["east a/b", "north a/b"],
    });
    expect(without({ [A]: ["west a/b", "east a/b"] }, ["east"])).toEqual({ [A]: ["east a/b"] });
  });

  it("are dropped where one is left that is not live, or none", () => {
    expect(without({ [A]: ["west a/b", "east a/b"], [B]: ["west a/b", "west c/d"] })).toEqual({});
    expect(without({ [A]: ["west a/b", "east a/b"] }, ["north"])).toEqual({});
  });

  it("stay as they are where the cluster claims nothing", () => {
    const orders = ordersOf({ [A]: ["east a/b"], [B]: ["east a/b", "north a/b"] });
    expect(drain(withoutClusters(orders, new Set(["west"]), () => false))).toBe(orders);
  });

  it("are looked through in steps of 512 addresses", () => {
    const many = Object.fromEntries(Array.from({ length: 1024 }, (_, index) => [hex(index), ["east a/b"]]));
    expect([...withoutClusters(ordersOf(many), new Set(["west"]), () => true)]).toHaveLength(2);
  });
});
