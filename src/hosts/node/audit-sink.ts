import { closeSync, openSync, writeSync } from "node:fs";
import type { Log } from "../../assembly/log.ts";
import { auditToLog, describeAudit } from "../../assembly/log.ts";
import { UsageError } from "../../config/values.ts";
import type { AuditSink } from "../../http/messages/environment.ts";
import { type Logger, logTo } from "./logger.ts";

/** The destination of audit lines on Node. */
export interface OpenAuditSink {
  readonly sink: AuditSink;
  close(): void;
}

/**
 * Opens the destination of audit lines: the ordinary log whatever its level, or a file that lines are appended to. If a line
 * cannot be written, the log gets an error; a full disk does not reject pushes.
 * @throws {UsageError} if the file cannot be opened
 */
export function openAuditSink(file: string | undefined, logger: Logger, log: Log): OpenAuditSink {
  if (file === undefined) {
    const level = logger.level === "silent" ? "silent" : "info";
    return { sink: auditToLog(logTo(logger.child({}, { level }))), close: () => {} };
  }
  const descriptor = open(file);
  let isFailing = false;
  return {
    sink: (entry) => {
      const time = new Date().toISOString();
      const line = { level: "info", time, audit: true, event: "audit", ...entry, msg: describeAudit(entry) };
      try {
        writeSync(descriptor, `${JSON.stringify(line)}\n`);
        isFailing = false;
      } catch (err) {
        if (!isFailing) log("error", "audit-not-written", "lines of the audit log are lost", { err });
        isFailing = true;
      }
    },
    close: () => closeSync(descriptor),
  };
}

function open(file: string): number {
  try {
    return openSync(file, "a", 0o600);
  } catch (error) {
    throw new UsageError(`audit.logFile: cannot open the file: ${(error as Error).message}`);
  }
}
