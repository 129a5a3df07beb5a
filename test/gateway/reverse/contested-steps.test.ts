import { describe, expect, it } from "vitest";
import { ReverseMemory, withoutClusters } from "../../../src/gateway/remembered/reverse-memory.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { createMemoryRememberedStore } from "../../../src/store/remembered/remembered-store.ts";
import { ClaimOrders } from "../../../src/zone/reverse/claim-orders.ts";
import { ContestedAddresses } from "../../../src/zone/reverse/contested/contested-addresses.ts";
import { ReverseLosses } from "../../../src/zone/reverse/contested/reverse-losses.ts";
import type { AddressKey, ReverseClaim } from "../../../src/zone/reverse/reverse-order.ts";

const ADDRESSES = 20_000;
/** More of one step would be milliseconds. */
const MOST_IN_STEP = 2048;

const claimsOf = (index: number): ReverseClaim[] => [
  `east shop/web-${index % 500}`,
  `west shop/db-${index % 500}`,
];
const keyOf = (index: number): AddressKey => (0x0a000000 + index).toString(16).padStart(8, "0");
const changes = new Map(Array.from({ length: ADDRESSES }, (_, index) => [keyOf(index), claimsOf(index)]));
const orders = ClaimOrders.none.with(changes);

/** How many steps it takes, with its result. */
function countSteps<Result>(steps: Generator<void, Result>): { count: number; result: Result } {
  for (let count = 1; ; count++) {
    const { done, value } = steps.next();
    if (done) return { count, result: value as Result };
  }
}

describe("many addresses that two clusters report are taken over in steps:", () => {
  const fewest = ADDRESSES / MOST_IN_STEP;

  it("their orders", () => {
    const { count, result } = countSteps(ClaimOrders.none.withInSteps(changes));
    expect(count).toBeGreaterThan(fewest);
    expect([...result]).toEqual([...orders]);
  });

  it("the services that contest them", () => {
    const contested = new ContestedAddresses();
    expect(countSteps(contested.follow(orders)).count).toBeGreaterThan(fewest);
    expect([...contested.of("shop/web-7")]).toHaveLength(ADDRESSES / 500);
  });

  it("what losers are told, which names the lowest addresses, and is told again only after a change", () => {
    const losses = new ReverseLosses();
    for (const [address, [first, loser]] of [...changes].reverse()) losses.set(address, first!, [loser!]);
    const { count, result } = countSteps(losses.findings());
    expect(count).toBeGreaterThan(fewest);
    expect(result).toHaveLength(500);
    expect(result.find(({ name }) => name === "db-0")?.message).toMatch(
      /first: 10\.0\.0\.0 .*, 10\.0\.1\.244 .*, 10\.0\.3\.232 .*, 10\.0\.5\.220 .*, 10\.0\.7\.208 .*, and of 35 more/,
    );
    expect(drain(losses.findings())).toBe(result);
    losses.set(keyOf(0), "east shop/web-0", []);
    expect(drain(losses.findings())).not.toBe(result);
  });

  it("what is left of them when a cluster leaves", () => {
    const { count, result } = countSteps(withoutClusters(orders, new Set(["east"]), (id) => id === "west"));
    expect(count).toBeGreaterThan(2 * fewest);
    expect(result.size).toBe(ADDRESSES);
    expect(result.get(keyOf(7))).toEqual(["west shop/db-7"]);
  });

  it("what is remembered of them, where newer orders that come meanwhile win", async () => {
    const store = createMemoryRememberedStore();
    const memory = ReverseMemory.from(store, new Map(), () => {});
    const steps = memory.update("", orders);
    steps.next();
    const newer = orders.with(
      new Map([...changes.keys()].map((address) => [address, ["west shop/db", "east shop/web"]])),
    );
    drain(memory.update("", newer.with(new Map([[keyOf(3), undefined]]))));
    expect(countSteps(steps).count).toBeGreaterThan(fewest);
    await memory.kept();
    const kept = Object.assign({}, ...(await store.load()).values.values()) as Record<string, string[]>;
    expect(Object.keys(kept)).toHaveLength(ADDRESSES - 1);
    for (const order of Object.values(kept)) expect(order).toEqual(["west shop/db", "east shop/web"]);
  });
});
