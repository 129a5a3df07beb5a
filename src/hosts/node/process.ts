import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname } from "node:path";
import { isatty } from "node:tty";
import { styleText } from "node:util";
import { destination, type Logger, pino, stdTimeFunctions } from "pino";
import { auditToLog, describeAudit, type Log } from "../../assembly/log.ts";
import { UsageError } from "../../config/values.ts";
import { type Clock, createSteadyClock, type Uptime } from "../../gateway/clock.ts";
import type { AuditEntry } from "../../http/messages/environment.ts";
import type { ProcessFacts, ThreadCounts } from "../../http/metrics/table.ts";
import type { ControlCounts } from "../../http/push/desired.ts";
import type { TlsSource } from "./tls.ts";
import { expiryOf } from "./tls.ts";

export type { Logger };

/**
 * On stderr, one event a line, so that stdout has only a command's output: in JSON, at a terminal as text.
 */
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
 * Opens the destination of audit lines: the ordinary log whatever its level, or a file that lines are
 * appended to. If a line cannot be written, the log gets an error; a full disk does not reject pushes.
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
    throw cannotOpen(error);
  }
}

/**
 * Checks that `openAuditSink` can open the file. Neither makes nor changes it.
 * @throws {UsageError} if it cannot
 */
export function checkAuditFile(file: string): void {
  try {
    if (existsSync(file)) closeSync(openSync(file, constants.O_WRONLY | constants.O_APPEND));
    else accessSync(dirname(file), constants.W_OK | constants.X_OK);
  } catch (error) {
    throw cannotOpen(error);
  }
}

function cannotOpen(error: unknown): UsageError {
  return new UsageError(`audit.logFile: cannot open the file: ${(error as Error).message}`);
}

/**
 * The memory that this process may use, in bytes: the limit of its container, otherwise the memory of the
 * machine.
 */
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
 * The clock of this process. Its time and the machine's uptime are monotonic, also while the wall clock is
 * set; neither counts while the machine is suspended.
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

/** How a level looks. */
const STYLES = {
  debug: "dim",
  info: "green",
  warn: "yellow",
  error: "red",
} as const satisfies Record<string, Parameters<typeof styleText>[0]>;

/** Fields that are not shown as such. */
const KNOWN: ReadonlySet<string> = new Set(["level", "time", "command", "msg"]);

/**
 * A line of the log for a person at a terminal: the time of day, the level, the message, then the other
 * fields. Bytes that could confuse the terminal are escaped.
 * @param json a line of the log
 */
export function terminalLine(json: string, isColoured: boolean): string {
  const entry = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const style = (format: Parameters<typeof styleText>[0], text: string) =>
    isColoured ? styleText(format, text, { validateStream: false }) : text;
  const level = String(entry.level);
  const name = level.toUpperCase().padEnd(5);
  const shown = Object.hasOwn(STYLES, level) ? style(STYLES[level as keyof typeof STYLES], name) : name;
  const time = new Date(String(entry.time)).toTimeString().slice(0, 8);
  const fields = Object.entries(entry).flatMap(([key, value]) =>
    KNOWN.has(key) ? [] : `${key}=${fieldText(value)}`,
  );
  const more = fields.length === 0 ? "" : `  ${style("dim", printable(fields.join(" ")))}`;
  return `${style("dim", time)} ${shown} ${printable(String(entry.msg ?? ""))}${more}\n`;
}

/** An error by its message; its stack is in the JSON form. */
function fieldText(value: unknown): string {
  if (typeof value === "string") return /^[\w./:@%+,[\]-]+$/.test(value) ? value : JSON.stringify(value);
  const { message } = (value ?? {}) as { readonly message?: unknown };
  return typeof message === "string" ? JSON.stringify(message) : JSON.stringify(value);
}

/**
 * A text from elsewhere for a terminal: line breaks become spaces, other control and format characters are
 * escaped.
 */
export function printable(text: string): string {
  return text
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll(/\p{C}/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
