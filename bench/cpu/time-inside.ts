import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { findProgram } from "../../test/e2e/servers/apt.ts";
import { run } from "../../test/e2e/servers/run.ts";

/** Samples for each second of CPU time: one takes some microseconds. */
const FREQUENCY = 4000;
/** Until perf has attached itself, in milliseconds. */
const ATTACH = 700;

/** CPU time of a process by what was on the stack, in milliseconds. */
export interface TimeInside {
  readonly all: number;
  /** While a function was on the stack. */
  readonly inside: number;
}

/** Samples the stacks of one process by `perf record`. */
export class StackSampler {
  readonly #file: string;
  readonly #perf: ReturnType<typeof spawn>;

  private constructor(pid: number, file: string) {
    const what = ["-e", "task-clock", "-F", String(FREQUENCY), "-g", "-o", file, "-p", String(pid)];
    this.#file = file;
    this.#perf = spawn("perf", ["record", ...what], { stdio: "ignore" });
  }

  /** @throws {Error} where perf is missing */
  static async start(pid: number, file: string): Promise<StackSampler> {
    if (findProgram("perf") === undefined)
      throw new Error("perf is not on PATH: apt-get install linux-perf (on Ubuntu linux-tools-generic)");
    const sampler = new StackSampler(pid, file);
    await sleep(ATTACH);
    return sampler;
  }

  /** @param symbol a part of the function's name @throws {Error} where nothing was sampled inside of it */
  async stop(symbol: string): Promise<TimeInside> {
    this.#perf.kill("SIGINT");
    if (this.#perf.exitCode === null) await once(this.#perf, "exit");
    const stacks = (await run("perf", ["script", "-i", this.#file])).split("\n\n");
    const count = (part: string) => stacks.filter((stack) => stack.includes(part)).length;
    const inside = count(symbol);
    if (inside === 0)
      throw new Error(`perf saw nothing of ${symbol}: is perf allowed to, and are there symbols?`);
    return { all: (count("task-clock") * 1000) / FREQUENCY, inside: (inside * 1000) / FREQUENCY };
  }
}
