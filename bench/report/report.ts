import type { Shape } from "../cpu/shapes.ts";

/** One measured quantity of one contender. */
export interface Row {
  readonly name: string;
  /** Such as `µs`, `1/s`, `MiB`. */
  readonly unit: string;
  /** One for each round, in the order of the rounds. */
  readonly samples: readonly number[];
}

/** What a row should reach: its median, or the median of its ratios to another row of the table. */
export type Goal = {
  readonly row: string;
  readonly dividedBy?: string;
} & ({ readonly atMost: number } | { readonly atLeast: number });

/** Rows that are read side by side. */
export interface Table {
  readonly title: string;
  readonly rows: readonly Row[];
  /** Names of the rows that every row of the same unit is divided by, round by round. */
  readonly baselines: readonly string[];
  readonly goals: readonly Goal[];
  /** Whether a ratio is that of two medians: for rows whose samples were not taken in pairs. */
  readonly ofMedians?: boolean;
  /** What has to be known to read the numbers. */
  readonly notes: readonly string[];
}

/** Where progress lines go. */
export type Progress = (line: string) => void;

/** How much is measured. */
export interface Effort {
  /** How often each contender is measured; the contenders take turns. */
  readonly rounds: number;
  /** Share of the usual work of one measurement, 0 to 1; below 1 for trying the benchmarks themselves. */
  readonly share: number;
  /** Whether worlds are small, too. */
  readonly isSmall: boolean;
  /** How long changes go on in `churn`. */
  readonly minutes: number;
  /** Endpoints of the large world at the edge. Default: as many as `isSmall` says. */
  readonly endpoints?: number | undefined;
  /** Connections and requests in flight of `cpu`. Default: all that it has. */
  readonly shapes?: readonly Shape[] | undefined;
}

/** One part of the benchmarks. */
export interface Section {
  readonly name: string;
  readonly summary: string;
  readonly measure: (effort: Effort, progress: Progress) => Promise<readonly Table[]>;
}
