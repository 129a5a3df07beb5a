import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatTable } from "../../bench/report/format-table.ts";
import type { Table } from "../../bench/report/report.ts";
import { judge, percentile, ratioIn } from "../../bench/report/statistics.ts";

const row = (name: string, samples: number[], unit = "ms") => ({ name, unit, samples });
const table = (rows: Table["rows"], more: Partial<Table> = {}): Table => ({
  ...{ title: "title", rows, baselines: [], goals: [], notes: [] },
  ...more,
});

describe("percentile", () => {
  it.each([
    [[5], 0.99, 5],
    [[4, 1, 3, 2], 0.5, 2],
    [[4, 1, 3, 2], 0.51, 3],
    [[4, 1, 3, 2], 1, 4],
    [[4, 1, 3, 2], 0, 1],
    [Array.from({ length: 1000 }, (_, index) => 1000 - index), 0.99, 990],
  ])("of %j at %d is %d", (samples, share, expected) => {
    expect(percentile(samples, share)).toBe(expected);
  });

  it("is the smallest sample that the share does not exceed, and leaves the samples alone", () => {
    const samples = fc.array(fc.integer(), { minLength: 1 });
    fc.assert(
      fc.property(samples, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
        const before = [...all];
        const found = percentile(all, share);
        expect(all).toEqual(before);
        expect(all).toContain(found);
        expect(all.filter((sample) => sample <= found).length).toBeGreaterThanOrEqual(all.length * share);
        expect(all.filter((sample) => sample < found).length).toBeLessThan(Math.max(1, all.length * share));
      }),
    );
  });

  it("of nothing is an error", () => {
    expect(() => percentile([], 0.5)).toThrow(RangeError);
  });
});

describe("the ratio of two rows", () => {
  const [slow, fast] = [row("slow", [10, 100, 30]), row("fast", [1, 2, 100])];

  it("is the median of the ratios round by round", () => {
    expect(ratioIn(table([slow, fast]), slow, fast)?.median).toBe(10);
  });

  it("is that of the medians where samples are not pairs, also with different numbers of samples", () => {
    const unpaired = table([slow, fast], { ofMedians: true });
    expect(ratioIn(unpaired, slow, fast)?.median).toBe(15);
    expect(ratioIn(unpaired, row("other", [4]), fast)?.median).toBe(2);
    expect(ratioIn(unpaired, row("bytes", [4], "B"), fast)).toBeUndefined();
  });

  it("reaches no goal if the baseline is not positive", () => {
    const goal = { row: "slow", dividedBy: "none", atMost: 1 };
    const none = table([slow, row("none", [-3])], { ofMedians: true });
    expect(judge(none, goal).reached).toBe(false);
  });

  it("is the whole text in a table of medians", () => {
    const text = formatTable(table([slow, fast], { ofMedians: true, baselines: ["fast"] }));
    expect(text).toMatch(/slow +ms +30\.0 +10\.0 – 100 +15\.0$/m);
  });
});
