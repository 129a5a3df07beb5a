import { describe, expect, it } from "vitest";
import { filterList, filterRecord, memoize } from "../../src/merge/unchanged.ts";

describe("filterRecord returns", () => {
  const record = { a: "1", b: "2" };

  it("the same object where nothing changes", () => {
    expect(filterRecord(record, (value) => value)).toBe(record);
  });

  it.each<[string, (value: string, key: string) => string | undefined, Record<string, string>]>([
    [
      "the other entries where one is left out",
      (value, key) => (key === "a" ? undefined : value),
      { b: "2" },
    ],
    ["changed entries in place of theirs", (value, key) => (key === "a" ? "x" : value), { a: "x", b: "2" }],
    ["no entries where all are left out", () => undefined, {}],
  ])("%s", (_, keep, kept) => {
    expect(filterRecord(record, keep)).toEqual(kept);
    expect(record).toEqual({ a: "1", b: "2" });
  });
});

describe("filterList returns", () => {
  const list = [1, 2, 3];

  it("the same list where every element stays, else a new one", () => {
    expect(filterList(list, () => true)).toBe(list);
    expect(filterList(list, (element) => element !== 2)).toEqual([1, 3]);
    expect(list).toEqual([1, 2, 3]);
  });
});

it("memoize computes once for each object, also where the result is undefined", () => {
  const computed: object[] = [];
  const compute = memoize((given: object) => void computed.push(given));
  const [one, other] = [{}, {}];
  for (const given of [one, other, one, other]) compute(given);
  expect(computed).toEqual([one, other]);
  expect(computed[0]).toBe(one);
});
