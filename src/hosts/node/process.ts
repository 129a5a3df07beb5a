export type { Logger } from "pino";

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { totalmem } from "node:os";
import { isatty } from "node:tty";
import { destination, type Logger, pino, stdTimeFunctions } from "pino";
import { auditToLog, describeAudit, type Log } from "../../assembly/log.ts";
import { UsageError } from "../../config/values.ts";
import { type Clock, createSteadyClock, type Uptime } from "../../gateway/clock.ts";
import type { AuditEntry } from "../../http/messages/environment.ts";
import type { ProcessFacts, ThreadCounts } from "../../http/metrics/table.ts";
import type { ControlCounts } from "../../http/push/desired.ts";
import { terminalLine } from "./terminal-log.ts";
import type { TlsSource } from "./tls.ts";
import { expiryOf } from "./tls.ts";

/** On stderr, one event a line, so that stdout has only a command's output: in JSON, at a terminal as text. */
export function createLogger(command: string, level: string): Logger {
  const isColoured = !process.env.NO_COLOR && process.env.TERM !== "dumb";
  const write = (line: string) => {
    try {
      writeSync(2, terminalLine(line, isColoured));
    } catch {
      // The terminal is gone, or takes nothing now: the gateway goes on.
    }
  };
  return pino(
    {
      level,
      base: { command },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    isatty(2) ? { write } : destination({ fd: 2, sync: true }),
  );
}

/** Writes the log of an assembly with this logger. */
export function logTo(logger: Logger): Log {
  return (level, event, message, fields) => logger[level]({ event, ...fields }, message);
}

/**
 * Opens the destination of audit lines: the ordinary log whatever its level, or a file that lines are appended to. If a line
 * cannot be written, the log gets an error; a full disk does not reject pushes.
 * @throws {UsageError} if the file cannot be opened
 */
export function openAuditSink(file: string | undefined, logger: Logger, log: Log) {
  if (file === undefined) {
    const level = logger.level === "silent" ? "silent" : "info";
    return { sink: auditToLog(logTo(logger.child({}, { level }))), close: () => {} };
  }
  const descriptor = open(file);
  let isFailing = false;
  return {
    sink: (entry: AuditEntry) => {
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

/** The memory that this process may use, in bytes: the limit of its container, otherwise the memory of the machine. */
export function memoryLimit(): number {
  // Runtimes other than Node may lack it; 0 and very large numbers mean that there is no limit.
  const constrained = process.constrainedMemory?.() ?? 0;
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** The facts of this process. */
export function processFacts(
  tls: TlsSource | undefined,
  control: ControlCounts,
  threads: ThreadCounts | undefined,
): ProcessFacts {
  return {
    memoryLimitBytes: memoryLimit(),
    control,
    threads,
    certificateExpiresAt: () => tls && expiryOf(tls.tls.cert),
  };
}

const boot = readBoot();

/**
 * The clock of this process. Its time and the machine's uptime are monotonic, also while the wall clock is set; neither counts while the machine
 * is suspended.
 */
export const nodeClock: Clock = { ...createSteadyClock(), uptime };

function uptime(): Uptime | undefined {
  // hrtime is CLOCK_MONOTONIC, which all processes of a Linux machine share (clock_gettime(2)).
  return boot === undefined ? undefined : { boot, at: Number(process.hrtime.bigint() / 1_000_000n) };
}

/** The id of the machine's current boot (proc_sys_kernel(5)); undefined if it is unknown. */
function readBoot(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
