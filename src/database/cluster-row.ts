import * as z from "zod";
import { DegradedSince } from "../snapshot/report/degradation.ts";

/** What the gateway holds of one cluster besides its entries. Times are Unix milliseconds. */
export const ClusterMeta = z.strictObject({
  /** Grows with each accepted push; a patch names the one it builds on. */
  generation: z.int(),
  /** When the last push was accepted. */
  pushedAt: z.number(),
  /** When the lease was last renewed. */
  renewedAt: z.number(),
  /** When the lease expires. */
  expiresAt: z.number(),
  /** The machine's uptime at `renewedAt`, in milliseconds, where it is known: the wall clock may be set before this is read. */
  uptime: z.strictObject({ boot: z.string(), at: z.number() }).optional(),
  /** What keeps its worker from reading all of the cluster, as last reported; absent if nothing does. */
  degraded: z.array(DegradedSince).optional(),
  /** What the worker that holds the lease reads, as it named it; absent for a lease without a name. */
  instance: z.string().optional(),
});
export type ClusterMeta = Readonly<z.infer<typeof ClusterMeta>>;

const count = z.int().min(0);

/** How much a cluster has of everything that is bounded, by the keys of the settings under `limits`. */
export const Totals = z.strictObject({
  namespaces: count,
  exports: count,
  imports: count,
  services: count,
  pods: count,
  findings: count,
  endpoints: count,
  ports: count,
  metadataCharacters: count,
  /** Characters of its entries as JSON, each with its key, a colon and a comma. */
  characters: count,
});
export type Totals = Readonly<z.infer<typeof Totals>>;

/** Of a cluster without entries. */
export const NO_TOTALS: Totals = {
  namespaces: 0,
  exports: 0,
  imports: 0,
  services: 0,
  pods: 0,
  findings: 0,
  endpoints: 0,
  ports: 0,
  metadataCharacters: 0,
  characters: 0,
};

/** A cluster that the gateway knows. */
export const ClusterRow = z.strictObject({
  id: z.string(),
  /**
   * - `live`: until the lease ends by the clock.
   * - `expired`: the lease ended; its entries stay in the database, and come back with the next renewal, patch or push.
   * - `left`: on purpose, also without ever having come. No entry is there; ranks are.
   * - `damaged`: rows were lost. No entry counts; the next push must be whole.
   */
  state: z.enum(["live", "expired", "left", "damaged"]),
  /** As of the last change; absent where it is not known. */
  meta: ClusterMeta.optional(),
  totals: Totals,
  /** The sum of the sums of its rows. */
  sum: z.int(),
  /** When it was last seen with its exports and imports. */
  seenAt: z.number(),
  /** The latest time that its ranks ever had. */
  latest: z.number(),
  /** Exports and imports have no ranks yet, because no clock was set when they came. */
  isUnranked: z.literal(true).optional(),
  /** Ranks were lost with damaged rows: what comes back without one counts as there first. */
  hasLostRanks: z.literal(true).optional(),
});
export type ClusterRow = Readonly<z.infer<typeof ClusterRow>>;
