import * as z from "zod";
import { LINES_FORMAT_VERSION } from "../../snapshot/lines/patch-line.ts";
import { ClusterMeta } from "../cluster-meta.ts";

/** The first line of a journal. */
export const JournalHead = z.strictObject({
  formatVersion: z.literal(LINES_FORMAT_VERSION),
  clusterId: z.string(),
  /** The generation that its first record builds on. */
  base: z.int(),
});
export type JournalHead = z.infer<typeof JournalHead>;

/** The last line of a record. The changes before it count if it is there, and as many of them as it says. */
export const RecordEnd = z.strictObject({
  lines: z.int().min(0),
  /** The generation that the record builds on. */
  base: z.int(),
  meta: ClusterMeta,
});
export type RecordEnd = z.infer<typeof RecordEnd>;
