import { destination, type Logger, pino, stdTimeFunctions } from "pino";
import type { Log } from "../../assembly/log.ts";

export type { Logger } from "pino";

/** JSON lines on stderr, one event each, so that stdout has only a command's output. */
export function createLogger(command: string, level: string): Logger {
  return pino(
    {
      level,
      base: { command },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination({ fd: 2, sync: true }),
  );
}

/** Writes the log of an assembly with this logger. */
export function logTo(logger: Logger): Log {
  return (level, event, message, fields) => logger[level]({ event, ...fields }, message);
}
