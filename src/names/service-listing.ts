import * as z from "zod";
import { ClusterId, LONGEST_OBJECT_KEY } from "../snapshot/schema.ts";

/** A service of the clusterset zone in one view. */
export const ServiceListing = z.object({
  namespace: z.string().max(LONGEST_OBJECT_KEY),
  name: z.string().max(LONGEST_OBJECT_KEY),
  /** Some of its addresses: IPv4 first, in the order of its records. */
  addresses: z.array(z.string().max(255)).readonly(),
  addressCount: z.int().min(0),
  /** Its named ports that have SRV records: `_http._tcp`, with the first number. */
  ports: z.array(z.object({ name: z.string().max(255), number: z.int().min(0).max(65_535) })).readonly(),
  /** The clusters on which its addresses depend; empty if it has no address. */
  clusters: z.array(ClusterId).readonly(),
  /** Whether clusters disagree on its properties; undefined where that is not known. */
  hasConflict: z.boolean().optional(),
});
export type ServiceListing = z.infer<typeof ServiceListing>;
