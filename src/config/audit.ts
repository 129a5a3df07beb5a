import * as z from "zod";

const settings = {
  /** Whether there is an audit log. */
  enabled: z.boolean().default(true),
  /** Lines that one source may cause in the long run, and at once: a credential, or the clients of one network without one. */
  linesPerSecond: z.int().min(1).max(100_000).default(10),
  lineBurst: z.int().min(1).max(1_000_000).default(600),
};

/** The audit log on a host without files. */
export const EdgeAudit = z.strictObject(settings);
export type EdgeAudit = z.infer<typeof EdgeAudit>;

/** The audit log. */
export const Audit = z.strictObject({
  ...settings,
  /** The file that lines are appended to, instead of the ordinary log. */
  logFile: z.string().min(1).optional(),
});
