import type { DegradedSince } from "../snapshot/report/degradation.ts";
import type { StoreTrouble } from "./store-health.ts";

/** What the gateway says of an accepted push or renewal. Times are Unix milliseconds. */
export interface Acknowledgement {
  readonly clusterId: string;
  readonly generation: number;
  readonly expiresAt: number;
}

/** One cluster, live or with its lease run out, for status pages, metrics and the JSON API. Times are those of the gateway's clock. */
export interface ClusterStatus {
  readonly clusterId: string;
  readonly generation: number;
  readonly pushedAt: number;
  readonly renewedAt: number;
  readonly expiresAt: number;
  /** Whether its lease runs, and what it pushed is in the answers. */
  readonly live: boolean;
  readonly exports: number;
  readonly imports: number;
  /** What keeps its worker from reading all of the cluster, as the worker last reported it; absent if nothing does. */
  readonly degraded?: readonly DegradedSince[] | undefined;
}

/** What can be said of what is served, wherever it was compiled. */
export interface ServingStatus {
  /** True once a first snapshot is loaded and at least one cluster is live (or all left on purpose). */
  readonly ready: boolean;
  /** Hash of all rows of live clusters (hex); for clients that see everything alone. */
  readonly stateHash: string | undefined;
  /** Bytes of compiled keys in memory; for clients that see everything alone, 0 for others. */
  readonly compiledBytes: number;
  readonly services: number;
  readonly clusters: readonly ClusterStatus[];
  /** Clusters that may push, and of which nothing is known; absent where that is not known of any. Not part of a transfer. */
  readonly neverSeen?: readonly string[];
  /**
   * Where answers say that they are stale: when what is answered from was last known to be what the primary serves, in
   * Unix milliseconds.
   */
  readonly staleSince?: number;
  /** The newest entry of the shared log that the generation has; absent where no log is shared. */
  readonly position?: number;
  /** Why, and since when (Unix milliseconds), changes cannot be stored: what is in memory is served, and new changes are refused. */
  readonly storeTrouble?: StoreTrouble;
  /** Where answers say that they are stale: since when a change waits that the primary's answers should have, in Unix milliseconds. */
  readonly behindSince?: number;
  /** Why a secondary could not take over the newest state of its primary: an older one is served, or none. */
  readonly transferError?: string;
}

/** The client of a full push, or of a leave: such a request replaces whatever generation there is. */
export interface Sender {
  /** Aborts when it goes. */
  readonly signal?: AbortSignal | undefined;
  /** The newest generation of its cluster that it knows; undefined if it does not say. */
  readonly after?: number | undefined;
  /** What it reads; undefined if it does not say. */
  readonly instance?: string | undefined;
}

/** The client of a full push, or of a leave, closed its request before the gateway took it. */
export class SenderGone extends Error {
  readonly code = "CLIENT_GONE";
}

/**
 * Rejects a request of a client which may have sent a newer one to another gateway since: this one would bring back an older state. So it is called last, when it is decided what the
 * request replaces. That the client has gone may be learned late, or never; a generation that is newer than what it knew says it for certain.
 * @param held the generation that is held; or, where that matters, the newest one that left
 * @throws {SenderGone} @throws {GenerationMismatch}
 */
export function refuseLate(
  { signal, after }: Sender,
  held: { readonly generation?: number | undefined; readonly left?: number | undefined },
): void {
  if (signal?.aborted) throw new SenderGone("the client has gone");
  if (after === undefined) return;
  const { generation, left } = held;
  if (generation !== undefined && generation > after)
    throw new GenerationMismatch(
      generation,
      `generation ${generation} is held, and the request came after a newer one`,
    );
  if (generation === undefined && left !== undefined && left > after)
    throw new GenerationMismatch(
      left,
      `the cluster left with generation ${left}, and the request came after that`,
    );
}

/** A push that names a generation that the gateway does not hold: the worker sends a full snapshot next. */
export class GenerationMismatch extends Error {
  readonly code = "GENERATION_MISMATCH";
  /** The newest generation of the cluster: the one that is held, or with which it left, where that is why; undefined for none. */
  readonly current: number | undefined;

  /** @param why default: another generation is held than the one that is named, or none */
  constructor(current: number | undefined, why = whatIsHeld(current)) {
    super(`${why}: send a full snapshot with PUT`);
    this.current = current;
  }
}

function whatIsHeld(generation: number | undefined): string {
  return generation === undefined
    ? "no snapshot of this cluster is held"
    : `generation ${generation} is held, not the one named`;
}
