import { expect, it } from "vitest";
import { COUNTED, ownCount, SharedCounts } from "../../../src/limits/shared/shared-counts.ts";

function threads(count: number) {
  const memory = SharedCounts.allocate(count);
  return Array.from({ length: count }, (_, thread) => new SharedCounts(memory, thread));
}

it("a count is that of all threads, and each bound is one for all of them", () => {
  const [one, other] = threads(2).map((counts) => counts.of("requests"));
  expect([one!.begin(3), other!.begin(3), one!.begin(3), other!.begin(3), one!.begin(3)]).toEqual([
    ...[true, true, true],
    ...[false, false],
  ]);
  expect([one!.total, other!.total]).toEqual([3, 3]);
  other!.end();
  expect([one!.begin(3), one!.begin(3), other!.total]).toEqual([true, false, 3]);
});

it("each kind is counted by itself", () => {
  const [counts] = threads(1);
  for (const [index, counted] of COUNTED.entries())
    for (let times = 0; times <= index; times++) counts!.of(counted).begin(100);
  expect(COUNTED.map((counted) => counts!.of(counted).total)).toEqual(COUNTED.map((_, index) => index + 1));
});

it("the counts of a thread that ended are removed, those of others stay", () => {
  const [one, other, third] = threads(3);
  for (const counts of [one!, other!, other!, third!]) for (const kind of COUNTED) counts.of(kind).begin(9);
  one!.clear(1);
  expect(COUNTED.map((counted) => third!.of(counted).total)).toEqual(COUNTED.map(() => 2));
});

it("a count of one object alone is no one else's", () => {
  const [one, other] = [ownCount("connections"), ownCount("connections")];
  expect([one.begin(1), one.begin(1), other.begin(1), other.total]).toEqual([true, false, true, 1]);
});
