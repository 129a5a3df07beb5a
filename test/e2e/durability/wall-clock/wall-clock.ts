import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../servers/tools/folders.ts";

/** One minute, hour and day in milliseconds. */
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/**
 * The wall clock of Node processes that are started with `env`. It can be set while they run, and a restarted process has it, too:
 *
 *     const clock = new WallClock();
 *     const gateway = await startGateway({ env: clock.env });
 *     clock.set(-HOUR);
 */
export class WallClock {
  /** For the environment of the processes. */
  readonly env: Readonly<Record<string, string>>;
  readonly #path: string;

  /** @param offset by how much it is ahead of this machine's clock, in milliseconds; behind it if negative */
  constructor(offset = 0) {
    this.#path = join(temporaryFolder("wall-clock"), "offset");
    this.set(offset);
    const preload = fileURLToPath(new URL("moved-date.ts", import.meta.url));
    this.env = { NODE_OPTIONS: `--import=${preload}`, WALL_CLOCK_OFFSET_FILE: this.#path };
  }

  /** Sets the clock, ahead of this machine's by `offset` milliseconds. Holds for the processes when it returns. */
  set(offset: number): void {
    // One write in place: a process never reads half of it, or nothing.
    const file = openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    writeSync(file, new Float64Array([offset]), 0, Float64Array.BYTES_PER_ELEMENT, 0);
    closeSync(file);
  }
}
