import type { DegradedSince } from "../snapshot/degradation.ts";

/** What the gateway holds of one cluster besides its entries. Times are Unix milliseconds. */
export interface ClusterMeta {
  /** Grows with each accepted push; a patch names the one it builds on. */
  readonly generation: number;
  /** When the last push was accepted. */
  readonly pushedAt: number;
  /** When the lease was last renewed. */
  readonly renewedAt: number;
  /** When the lease expires. */
  readonly expiresAt: number;
  /** The machine's uptime at `renewedAt`, in milliseconds, where it is known: the wall clock may be set before this is read. */
  readonly uptime?: { readonly boot: string; readonly at: number } | undefined;
  /** What keeps its worker from reading all of the cluster, as last reported; absent if nothing does. */
  readonly degraded?: readonly DegradedSince[] | undefined;
  /** What the worker that holds the lease reads, as it named it; absent for a lease without a name. */
  readonly instance?: string | undefined;
}

/** Totals of a cluster without entries. */
export const NO_TOTALS = {
  namespaces: 0,
  exports: 0,
  imports: 0,
  services: 0,
  pods: 0,
  findings: 0,
  endpoints: 0,
  ports: 0,
  metadataCharacters: 0,
  /** Characters of its entries as JSON, each with its key, a colon and a comma. */
  characters: 0,
};

/** How much a cluster has of everything that is bounded, by the keys of the settings under `limits`. */
export type Totals = Readonly<typeof NO_TOTALS>;

/** A cluster that the gateway knows. */
export interface ClusterRow {
  readonly id: string;
  /**
   * - `live`: until the lease ends by the clock.
   * - `expired`: the lease ended; its entries stay in the database, and come back with the next renewal, patch or push.
   * - `removed`: the lease ended, others after it, and its entries went. Ranks are there; the next push must be whole.
   * - `left`: on purpose, also without ever having come. No entry is there; ranks are.
   * - `damaged`: rows were lost. No entry is there; the next push must be whole.
   * - `arriving`: its first push is not there whole. Nothing of it counts; the next push must be whole.
   */
  readonly state: "live" | "expired" | "removed" | "left" | "damaged" | "arriving";
  /** A large push is there in part, each entry whole: the next push must be whole. */
  readonly isPartial?: true | undefined;
  /** As of the last change; absent where it is not known. */
  readonly meta?: ClusterMeta | undefined;
  readonly totals: Totals;
  /** The sum of the sums of its rows, modulo 2^48. */
  readonly sum: number;
  /** How many rows of claims it has; absent for none. Their sums differ from gateway to gateway, as positions of the log do. */
  readonly claims?: number | undefined;
  /** When it was last seen with its exports and imports. */
  readonly seenAt: number;
  /** The latest time that its ranks ever had. */
  readonly latest: number;
  /** Exports and imports have no ranks yet, because no clock was set when they came. */
  readonly isUnranked?: true | undefined;
  /** Ranks were lost with damaged rows: what comes back without one counts as there first. */
  readonly hasLostRanks?: true | undefined;
}
