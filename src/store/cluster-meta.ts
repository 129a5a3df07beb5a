import * as z from "zod";
import { DegradedSince } from "../snapshot/report/degradation.ts";

/** What the gateway holds of one cluster besides its snapshot. Times are Unix milliseconds. */
export const ClusterMeta = z.strictObject({
  /** Grows with each accepted push; a delta names the one it builds on. */
  generation: z.int(),
  /** When the last push was accepted. */
  pushedAt: z.number(),
  /** When the lease was last renewed. */
  renewedAt: z.number(),
  /** When the lease expires. */
  expiresAt: z.number(),
  /** The machine's uptime at `renewedAt`, in milliseconds, where it is known: the wall clock may be set before this is loaded. */
  uptime: z.strictObject({ boot: z.string(), at: z.number() }).optional(),
  /** What keeps its worker from reading all of the cluster, as last reported; absent if nothing does. */
  degraded: z.array(DegradedSince).readonly().optional(),
  /** What the worker that holds the lease reads, as it named it; absent for a lease without a name. */
  instance: z.string().optional(),
});
export type ClusterMeta = Readonly<z.infer<typeof ClusterMeta>>;
