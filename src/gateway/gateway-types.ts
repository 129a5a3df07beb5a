import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import type { DegradedSince } from "../snapshot/report/degradation.ts";
import type { StoreTrouble } from "./keeping/store-health.ts";

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

/** What can be said of the generation that is served, wherever it was compiled. */
export interface ServingStatus {
  /** True once a first snapshot is loaded and at least one cluster is live (or all left on purpose). */
  readonly ready: boolean;
  /** Content hash of the generation (hex), if there is one. */
  readonly rootHash: string | undefined;
  readonly generationBytes: number;
  readonly services: number;
  readonly clusters: readonly ClusterStatus[];
  /** Why the newest state could not be compiled: an older generation is served, or none. */
  readonly compileError?: string;
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

/** What the gateway serves now, with what was said while it was compiled. */
export interface GatewayStatus extends ServingStatus {
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
}

/** A push that names a generation that the gateway does not hold: the worker sends a full snapshot next. */
export class GenerationMismatch extends Error {
  readonly code = "GENERATION_MISMATCH";
  readonly current: number | undefined;
  constructor(current: number | undefined) {
    super(
      current === undefined
        ? "no snapshot of this cluster is held: send a full snapshot with PUT"
        : `generation ${current} is held, not the one named: send a full snapshot with PUT`,
    );
    this.current = current;
  }
}
