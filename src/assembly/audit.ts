import type { EdgeAudit } from "../config/audit.ts";
import { AuditLog } from "../http/audit/audit.ts";
import type { AuditEntry, AuditSink } from "../http/audit/audit-entry.ts";
import type { LimitCounters } from "../limits/limit-counters.ts";
import type { Log } from "./log.ts";

/** The audit log of a gateway; undefined if it is off. */
export function createAudit(
  { enabled, linesPerSecond, lineBurst }: EdgeAudit,
  sink: AuditSink,
  counters?: LimitCounters,
): AuditLog | undefined {
  if (!enabled) return undefined;
  return new AuditLog(sink, { perSecond: linesPerSecond, burst: lineBurst }, counters);
}

/** Writes audit lines into the ordinary log, with `"audit":true`. */
export function auditToLog(log: Log): AuditSink {
  return (entry) => log("info", "audit", describeAudit(entry), { audit: true, ...entry });
}

/** An entry in words. */
export function describeAudit({ action, outcome, cluster, federation, code }: AuditEntry): string {
  const of = [cluster && `of cluster ${cluster}`, federation && `of federation ${federation}`];
  return [action, ...of.filter(Boolean), outcome, ...(code === undefined ? [] : [`(${code})`])].join(" ");
}
