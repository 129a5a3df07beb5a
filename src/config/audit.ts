import * as z from "zod";

const settings = {
  /** Whether there is an audit log. */
  enabled: z.boolean().default(true),
  /** The rate and the burst of lines of one source: a credential, or the clients without one in one network. */
  linesPerSecond: z.int().min(1).max(100_000).default(10),
  lineBurst: z.int().min(1).max(1_000_000).default(600),
};

/** The audit log on a host without files. */
export const EdgeAudit = z.strictObject(settings);
export type EdgeAudit = z.infer<typeof EdgeAudit>;

/** The audit log. */
export const Audit = z.strictObject({
  ...settings,
  /** The file for lines, instead of the ordinary log. */
  logFile: z.string().min(1).optional(),
});
