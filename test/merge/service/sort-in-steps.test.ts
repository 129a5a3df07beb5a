import fc from "fast-check";
import { expect, it } from "vitest";
import { sortInSteps } from "../../../src/merge/service/sort-in-steps.ts";
import { drain } from "../../../src/snapshot/drain.ts";

const items = fc.oneof(
  fc.array(fc.nat(20)),
  fc.array(fc.nat(300), { minLength: 1000, maxLength: 3000, size: "max" }),
);

it("sorts as Array.prototype.sort does: equal items keep their order", () => {
  fc.assert(
    fc.property(items, (ranks) => {
      const given = ranks.map((rank, index) => ({ rank, index }));
      const compare = (left: { rank: number }, right: { rank: number }) => left.rank - right.rank;
      const expected = given.toSorted(compare);
      expect(drain(sortInSteps(given, compare))).toEqual(expected);
    }),
  );
});

it("compares few items in one step", () => {
  const given = Array.from({ length: 20_000 }, (_, index) => (index * 7919) % 20_011);
  let compared = 0;
  const compare = (left: number, right: number) => {
    compared++;
    return left - right;
  };
  const steps = sortInSteps(given, compare);
  let most = 0;
  let count = 0;
  for (let isDone = false; !isDone; count++) {
    compared = 0;
    isDone = steps.next().done === true;
    most = Math.max(most, compared);
  }
  expect(most).toBeLessThan(8000);
  expect(count).toBeGreaterThan(200);
});
