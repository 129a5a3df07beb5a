import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../servers/tools/folders.ts";

/** The disk of processes that are started with `env`: it answers nothing between `holdUp` and `goOn`. */
export class HeldUpDisk {
  readonly env: Record<string, string>;
  readonly #file = join(temporaryFolder("disk"), "held-up");

  constructor() {
    const preload = fileURLToPath(new URL("hold-up-at-file.ts", import.meta.url));
    this.env = { NODE_OPTIONS: `--import=${preload}`, HELD_UP_FILE: this.#file };
  }

  holdUp(): void {
    writeFileSync(this.#file, "");
  }

  goOn(): void {
    rmSync(this.#file, { force: true });
  }
}
