/** Between the runner and the worker, which has loaded all tests. */
export const CHANNEL = "mutation";

/** Runs tests, with one mutant at most. */
export interface RunRequest {
  /** Ids of tests; all unless given. */
  readonly tests?: readonly string[];
  readonly mutant?: string;
}

/** A test that ran. */
export interface RanTest {
  /** Its file and the path of its titles. */
  readonly id: string;
  readonly file: string;
  readonly milliseconds: number;
  readonly failure?: string;
}

/** What the run without a mutant measures, by test. A process that replaces another one needs it, too. */
export interface Measured {
  /** Microseconds of CPU time: the clock says nothing on a busy machine. */
  readonly work: Readonly<Record<string, number>>;
  /** How often each test passed code that could be mutated. */
  readonly passes: Readonly<Record<string, number>>;
  /** How long the thread was idle meanwhile, in milliseconds. */
  readonly idle: Readonly<Record<string, number>>;
}

/** What a run resulted in. */
export interface RunReply {
  readonly tests: readonly RanTest[];
  /** Only of a run without mutant. */
  readonly measured?: Measured;
  readonly coverage?: CoverageByTest;
  /** The last test did not end by itself. */
  readonly looped?: boolean;
  /** The test that failed also fails without the mutant. */
  readonly damaged?: boolean;
  /** A test timed out: it may still run. */
  readonly pending?: boolean;
}

/** Mutants by test, with how often their code ran, as Stryker's instrumented code writes it. */
export interface CoverageByTest {
  static: Record<string, number>;
  perTest: Record<string, Record<string, number>>;
}
