import type { Clock } from "../gateway/clock.ts";
import { within } from "./deadline.ts";
import type { ImageKeeper } from "./image-keeper.ts";
import type { RefreshPolicy } from "./refresh-policy.ts";
import type { Attempt } from "./refresh-schedule.ts";
import type { TransferSource, TransferState } from "./transfer-state.ts";

/** How often a state is asked for whose image is gone before it is fetched. */
const MOST_TRIES = 3;

/** A state of the primary, with the octets of the image that it names. */
export interface Newest {
  readonly state: TransferState;
  /** When the primary said it, in Unix milliseconds. */
  readonly asOf: number;
  /** Undefined where the primary is not ready. */
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
}

/** What fetching works with. */
export interface FetchParts {
  readonly source: TransferSource;
  readonly images: ImageKeeper;
  readonly policy: RefreshPolicy;
  readonly clock: Clock;
}

/**
 * Asks for the newest state, and for its image unless that one is kept. Marks in `attempt` how far it is.
 * @param maximumAge what a state that the source kept may have, in milliseconds
 * @throws {Error} where the primary does not give them in time
 */
export async function fetchNewest(
  { source, images, policy, clock }: FetchParts,
  attempt: Attempt,
  maximumAge: number,
): Promise<Newest> {
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
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    const asked = clock.now();
    const state = await step(
      policy.stateTimeout,
      "the primary did not send its state",
      // Once a state named an image that is gone, the next one has to come from the primary.
      (signal) => source.state(tries === 1 ? maximumAge : 0, signal),
      // Nothing is gained by giving up on a primary that starts, say, while there is nothing to answer from.
      images.isEmpty ? Math.max(policy.stateTimeout, policy.firstWait) : policy.stateTimeout,
    );
    // No later than it was asked for, should clocks differ a little.
    const asOf = Math.min(asked, state.at);
    const { ready, imageHash } = state.status;
    if (!ready) return { state, asOf, bytes: undefined };
    if (imageHash === undefined) throw new Error("the primary is ready, but names no image");
    const bytes = await step(policy.imageTimeout, "the image was not transferred", (signal) =>
      images.fetch(imageHash, clock.now(), signal),
    );
    if (bytes !== undefined) return { state, asOf, bytes };
  }
  throw new Error("the primary's image changed with each request");
}
