import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClaimOrders } from "../../../src/zone/reverse/claim-orders.ts";

describe("orders of claims", () => {
  const key = fc.integer({ min: 0, max: 4000 }).map((number) => number.toString(16).padStart(8, "0"));
  const changes = fc.array(fc.tuple(key, fc.option(fc.array(fc.constantFrom("a", "b")), { nil: undefined })));

  it("have what was added, replaced and removed, and count it", () => {
    // The first two share a bucket.
    const [one, other, third] = ["0a000001", "0b000001", "0a000002"] as const;
    const first = ClaimOrders.none.with(
      new Map([
        [one, ["a"]],
        [other, ["b"]],
        [third, ["c"]],
      ]),
    );
    const next = first.with(
      new Map([
        [one, ["d"]],
        [other, undefined],
      ]),
    );
    expect([ClaimOrders.none.size, first.size, next.size]).toEqual([0, 3, 2]);
    expect([...first].sort()).toEqual([
      [one, ["a"]],
      [third, ["c"]],
      [other, ["b"]],
    ]);
    expect([next.get(one), next.get(other), next.get(third)]).toEqual([["d"], undefined, ["c"]]);
    expect([next.has(one), next.has(other), next.has(third)]).toEqual([true, false, true]);
    const added = first.with(new Map([["0c000001", ["e"]]]));
    expect([...added.changedSince(first)]).toEqual(["0c000001"]);
    expect([...next.changedSince(first)].sort()).toEqual([one, other]);
    expect([...first.changedSince(next)].sort()).toEqual([one, other]);
  });

  it("are changed without changing those before, and name what differs", () => {
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 8 }), (steps) => {
        const models = [new Map<string, readonly string[]>()];
        const orders = [ClaimOrders.none];
        for (const step of steps) {
          const model = new Map(models.at(-1));
          for (const [address, order] of step)
            if (order === undefined) model.delete(address);
            else model.set(address, order);
          models.push(model);
          orders.push(orders.at(-1)!.with(new Map(step)));
        }
        for (const [index, model] of models.entries()) {
          const own = orders[index]!;
          expect(new Map(own)).toEqual(model);
          expect(own.size).toBe(model.size);
          const before = models[Math.max(0, index - 2)]!;
          const addresses = [...new Set([...model.keys(), ...before.keys()])];
          const differ = addresses.filter((address) => model.get(address) !== before.get(address));
          expect([...own.changedSince(orders[Math.max(0, index - 2)]!)].sort()).toEqual(differ.sort());
        }
      }),
    );
  });
});
