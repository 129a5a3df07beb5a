/** Between the runner and the worker, which has loaded all tests. */
export const CHANNEL = "mutation";

/** Runs tests, with one mutant at most. */
export interface RunRequest {
  /** Ids of tests; all unless given. */
  readonly tests?: readonly string[];
  readonly mutant?: string;
  /** How often the mutant's code may run before it counts as a loop. */
  readonly hitLimit?: number;
}

/** A test that ran. */
export interface RanTest {
  /** Its file and the path of its titles. */
  readonly id: string;
  readonly file: string;
  readonly milliseconds: number;
  readonly failure?: string;
}

/** What a run resulted in. */
export interface RunReply {
  readonly tests: readonly RanTest[];
  /** Mutants by test, with how often their code ran; only of a run without mutant. */
  readonly coverage?: CoverageByTest;
  readonly hitCount: number;
  /** The test that failed also fails without the mutant. */
  readonly damaged: boolean;
  /** A test timed out: it may still run. */
  readonly pending: boolean;
}

/** As Stryker's instrumented code writes it. */
export interface CoverageByTest {
  static: Record<string, number>;
  perTest: Record<string, Record<string, number>>;
}
