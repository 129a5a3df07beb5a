import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../servers/tools/folders.ts";

/** In milliseconds. */
export const MINUTE = 60_000;

/**
 * The clock of Node processes that are started with `env`. It can be moved while they run, and a restarted
 * process has it, too:
 *
 *     const clock = new MovedClock();
 *     const gateway = await startGateway({ env: clock.env });
 *     clock.pass(MINUTE);
 *
 * With `timers` the pauses of the processes end, too, once the clock has passed them.
 */
export class MovedClock {
  /** For the environment of the processes. */
  readonly env: Readonly<Record<string, string>>;
  readonly #path = join(temporaryFolder("moved-clock"), "ahead");
  #ahead = 0;

  constructor({ timers = false } = {}) {
    this.#write();
    const preload = fileURLToPath(new URL("moved-clock-preload.ts", import.meta.url));
    this.env = {
      NODE_OPTIONS: `--import=${preload}`,
      MOVED_CLOCK_FILE: this.#path,
      ...(timers && { MOVED_CLOCK_TIMERS: "1" }),
    };
  }

  /** What the wall clock of the processes shows, in Unix milliseconds. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  /**
   * Lets milliseconds pass at once, by every clock; by that of timers only with `timers`, and a moment later.
   * Holds for the processes when it returns.
   */
  pass(milliseconds: number): void {
    this.#ahead += milliseconds;
    this.#write();
  }

  /** A probe before which a second passes each time: `eventually(clock.passing(() => …))`. */
  passing<T>(probe: () => T): () => T {
    return () => {
      this.pass(1000);
      return probe();
    };
  }

  #write(): void {
    // One write in place: a process never reads half of it, or nothing.
    const file = openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    writeSync(file, new Float64Array([this.#ahead]), 0, Float64Array.BYTES_PER_ELEMENT, 0);
    closeSync(file);
  }
}
