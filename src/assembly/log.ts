import type { ServeConfig } from "../config/settings.ts";
import type { OnUpstreamChange } from "../forward/upstream-group.ts";
import { levelOf, type OnGatewayEvent } from "../gateway/gateway-types.ts";
import { AuditLog } from "../http/audit.ts";
import type { AuditEntry, AuditSink } from "../http/messages/environment.ts";
import type { LimitCounters } from "../limits/counters.ts";
import type { OnTransferEvent } from "../transfer/transfer-state.ts";

/** The members of a log entry beside its message. */
export interface LogFields {
  /** The error that the entry is about. */
  readonly err?: unknown;
  readonly [name: string]: unknown;
}

/** Writes one entry. It must not contain a secret. */
export type Log = (
  level: "debug" | "info" | "warn" | "error",
  event: string,
  message: string,
  fields?: LogFields,
) => void;

/** Writes a line of JSON, which the log services of serverless hosts parse. */
export const logJson: Log = (level, event, message, { err, ...fields } = {}) => {
  const error =
    err === undefined ? undefined : err instanceof Error ? (err.stack ?? err.message) : String(err);
  const time = new Date().toISOString();
  console[level](JSON.stringify({ level, time, event, message, ...fields, error }));
};

/** An error's message with its cause: `fetch failed` alone is no help. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** Logs pushes, leases and compilations of a primary. */
export function logGateway(log: Log): OnGatewayEvent {
  return (happened) => {
    const { event, ...fields } = happened;
    if ("error" in fields) {
      const { error, ...rest } = fields;
      log("error", event, describeError(error), { ...rest, err: error });
    } else if (happened.event === "lease-expired") {
      log("warn", event, `the lease of ${happened.clusterId} expired: its names leave the answers`, fields);
    } else if (happened.event === "other-instance") {
      const message = `a second worker pushes for ${happened.clusterId}, and is rejected while instance ${happened.holder} holds the lease: give one of the two another cluster id, or stop it`;
      log("warn", event, message, fields);
    } else {
      log(levelOf(happened), event, event.replaceAll("-", " "), fields);
    }
  };
}

/** Logs the transfers of a secondary. */
export function logTransfers(log: Log): OnTransferEvent {
  return ({ event, ...fields }) => {
    if ("error" in fields) {
      const { error, ...rest } = fields;
      log("error", event, describeError(error), rest);
    } else if (event === "stale") {
      log("warn", event, "the primary does not answer: answers say that they are stale", fields);
    } else {
      log("info", event, event.replaceAll("-", " "), fields);
    }
  };
}

/** Logs which upstreams answer. */
export function logUpstreams(log: Log): OnUpstreamChange {
  return (upstream, error) => {
    if (error === undefined) log("info", "upstream-answers", `${upstream} answers again`, { upstream });
    else
      log("warn", "upstream-failed", `${upstream} did not answer: ${describeError(error)}`, {
        upstream,
        reason: error.message,
      });
  };
}

/** Logs that the keys of an issuer could not be fetched. */
export function logKeys(log: Log): (url: string, error: unknown) => void {
  return (url, err) =>
    log("warn", "keys-unavailable", `the keys of an issuer could not be fetched: ${describeError(err)}`, {
      url,
      err,
    });
}

/** The audit log of a gateway; undefined if it is off. */
export function createAudit(
  { enabled, linesPerSecond, lineBurst }: ServeConfig["audit"],
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
