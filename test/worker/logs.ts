import type { SyncLogger } from "../../src/worker/object-source.ts";

/** A logger that keeps its lines as `level: message`. */
export class KeptLogs implements SyncLogger {
  readonly lines: string[] = [];
  info(_: object, message: string): void {
    this.lines.push(`info: ${message}`);
  }
  warn(_: object, message: string): void {
    this.lines.push(`warn: ${message}`);
  }
  error(_: object, message: string): void {
    this.lines.push(`error: ${message}`);
  }
}
