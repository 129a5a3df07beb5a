import type { Goal, Row, Table } from "./report.ts";

/** The ratios of two rows. */
export interface Ratio extends Spread {
  /** The best sample by the best: disturbance only ever makes things worse, so these were disturbed least. */
  readonly ofBest: number;
}

/** The middle of the samples, with the smallest and the largest. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** @throws {RangeError} where there are no samples */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((left, right) => left - right);
  const upper = sorted[sorted.length >> 1];
  if (upper === undefined) throw new RangeError("nothing was measured");
  const lower = sorted[(sorted.length - 1) >> 1]!;
  return { median: (lower + upper) / 2, least: sorted[0]!, most: sorted.at(-1)! };
}

/**
 * The smallest sample that a share of all samples does not exceed: 0.99 for p99.
 * @throws {RangeError} where there are none
 */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = Float64Array.from(samples).sort();
  const found = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (found === undefined) throw new RangeError("nothing was measured");
  return found;
}

/**
 * The ratio of a row to a baseline of its table; undefined where they cannot be compared, NaN without a
 * positive baseline.
 */
export function ratioIn({ ofMedians = false }: Table, row: Row, baseline: Row): Ratio | undefined {
  if (!ofMedians) return ratioOf(row, baseline);
  if (row === baseline || row.unit !== baseline.unit) return undefined;
  const base = spreadOf(baseline.samples).median;
  const ratio = base > 0 ? spreadOf(row.samples).median / base : Number.NaN;
  return { median: ratio, least: ratio, most: ratio, ofBest: ratio };
}

/**
 * The ratios of two rows, round by round: what disturbs the machine during one round disturbs both. Undefined
 * where the rows cannot be compared.
 */
export function ratioOf(row: Row, baseline: Row): Ratio | undefined {
  if (row === baseline || row.unit !== baseline.unit || row.samples.length !== baseline.samples.length)
    return undefined;
  const ofBest = bestOf(row) / bestOf(baseline);
  return { ...spreadOf(row.samples.map((sample, round) => sample / baseline.samples[round]!)), ofBest };
}

function bestOf({ unit, samples }: Row): number {
  const { least, most } = spreadOf(samples);
  return unit === "1/s" ? most : least;
}

/** What came of a goal: the value that it is about, and whether it was reached. */
export function judge(table: Table, goal: Goal): { readonly value: number; readonly reached: boolean } {
  const row = rowOf(table, goal.row);
  const spread =
    goal.dividedBy === undefined ? spreadOf(row.samples) : ratioIn(table, row, rowOf(table, goal.dividedBy));
  if (spread === undefined) throw new Error(`${goal.row} cannot be divided by ${goal.dividedBy}`);
  const { median } = spread;
  return { value: median, reached: "atMost" in goal ? median <= goal.atMost : median >= goal.atLeast };
}

/** The row of that name. */
export function rowOf(table: Table, name: string): Row {
  const row = table.rows.find((candidate) => candidate.name === name);
  if (row === undefined) throw new Error(`the table "${table.title}" has no row "${name}"`);
  return row;
}
