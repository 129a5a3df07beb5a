/** The share of the runs that a property names which it has (`PROPERTY_RUNS`): a fifth while one works, all of them in CI, ten times as many in a soak. */
export const RUNS_SHARE = Number(process.env.PROPERTY_RUNS ?? 0.2);
