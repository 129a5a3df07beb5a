import { destination, type Logger, pino, stdTimeFunctions } from "pino";

export type { Logger } from "pino";

/** JSON lines on stderr, one event each, so that stdout stays free for what a command prints. */
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
