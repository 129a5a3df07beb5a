import type { Clock } from "../gateway/clock.ts";
import { within } from "./deadline.ts";
import type { FetchedGeneration, GenerationKeeper } from "./generation-keeper.ts";
import type { RequestStep } from "./parts/part-fetcher.ts";
import type { RefreshPolicy } from "./refresh-policy.ts";
import type { Attempt } from "./refresh-schedule.ts";
import type { TransferSource, TransferState } from "./transfer-state.ts";

/** How often a state is requested whose parts are gone before they are fetched. */
const MOST_TRIES = 3;

/** A state of the primary, with the generation that it names. */
export interface Newest {
  readonly state: TransferState;
  /** When the primary said it, in Unix milliseconds. */
  readonly asOf: number;
  /** Undefined where the primary is not ready. */
  readonly fetched: FetchedGeneration | undefined;
}

/** What fetching works with. */
export interface FetchParts {
  readonly source: TransferSource;
  readonly generations: GenerationKeeper;
  readonly policy: RefreshPolicy;
  readonly clock: Clock;
}

/**
 * Requests the newest state, and what is not here of its generation. Marks in `attempt` how far it is.
 * @param maximumAge what a state that the source kept may have, in milliseconds
 * @throws {Error} where the primary does not give them in time
 */
export async function fetchNewest(
  { source, generations, policy, clock }: FetchParts,
  attempt: Attempt,
  maximumAge: number,
): Promise<Newest> {
  /** @param most milliseconds after which the request is given up; others who wait count on `timeout` */
  const step = <Result>(
    timeout: number,
    late: string,
    run: (signal: AbortSignal) => Promise<Result>,
    most = timeout,
  ) => {
    attempt.since = clock.now();
    attempt.timeout = timeout;
    return within(clock, most, late, run);
  };
  const request: RequestStep = (late, run) => step(policy.partTimeout, late, run);
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    const asked = clock.now();
    const state = await step(
      policy.stateTimeout,
      "the primary did not send its state",
      // Once a state named parts that are gone, the next one has to come from the primary.
      (signal) => source.state(tries === 1 ? maximumAge : 0, signal),
      // Nothing is gained by giving up on a primary that starts, say, while there is nothing to answer from.
      generations.isEmpty ? Math.max(policy.stateTimeout, policy.firstWait) : policy.stateTimeout,
    );
    // No later than it was requested, should clocks differ a little.
    const asOf = Math.min(asked, state.at);
    const { ready, rootHash } = state.status;
    if (!ready) return { state, asOf, fetched: undefined };
    if (rootHash === undefined || state.serial === undefined)
      throw new Error("the primary is ready, but names no root");
    const fetched = await generations.fetch(rootHash, state.serial, clock.now(), request);
    if (fetched !== undefined) return { state, asOf, fetched };
  }
  throw new Error("the primary's root changed with each request");
}
