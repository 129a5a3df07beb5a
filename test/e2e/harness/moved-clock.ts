import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../servers/tools/folders.ts";

/** One minute, hour and day in milliseconds. */
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/**
 * The clock of Node processes that are started with `env`. It can be moved while they run, and a restarted process has it, too:
 *
 *     const clock = new MovedClock();
 *     const gateway = await startGateway({ env: clock.env });
 *     clock.pass(HOUR);
 */
export class MovedClock {
  /** For the environment of the processes. */
  readonly env: Readonly<Record<string, string>>;
  readonly #path = join(temporaryFolder("moved-clock"), "ahead");
  #wall = 0;
  #elapsed = 0;

  constructor() {
    this.#write();
    const preload = fileURLToPath(new URL("moved-clock-preload.ts", import.meta.url));
    this.env = { NODE_OPTIONS: `--import=${preload}`, MOVED_CLOCK_FILE: this.#path };
  }

  /** What the wall clock of the processes shows, in Unix milliseconds. */
  now(): number {
    return Date.now() + this.#wall;
  }

  /** Sets the wall clock, ahead of this machine's by `offset` milliseconds. Holds for the processes when it returns. */
  set(offset: number): void {
    this.#wall = offset;
    this.#write();
  }

  /** Lets milliseconds pass at once, by every clock but that of timers. Holds for the processes when it returns. */
  pass(milliseconds: number): void {
    this.#wall += milliseconds;
    this.#elapsed += milliseconds;
    this.#write();
  }

  #write(): void {
    // One write in place: a process never reads half of it, or nothing.
    const file = openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    writeSync(file, new Float64Array([this.#wall, this.#elapsed]), 0, 2 * Float64Array.BYTES_PER_ELEMENT, 0);
    closeSync(file);
  }
}
