/**
 * For how long a test waits for one state, in milliseconds: two busy cores took 60 s for what usually takes
 * 5. Whatever waits for a state in a test waits for as long, so that it ends before the test around it, and
 * names the state.
 */
export const DEADLINE = 120_000;

/** Of a test, or a hook, which waits for several states in turn. */
export const TEST_DEADLINE = 4 * DEADLINE;
