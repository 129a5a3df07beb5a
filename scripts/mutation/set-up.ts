import fc from "fast-check";

/**
 * A mutant is killed by any counterexample: none is made smaller. With one seed a test covers the same mutants each time. A property is not
 * tried for longer than this in milliseconds: a mutant that only more runs would kill counts as survived, never the other way round.
 */
fc.configureGlobal({ seed: 1, endOnFailure: true, interruptAfterTimeLimit: 300 });
