import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { run } from "../../test/e2e/servers/run.ts";
import { findProgram } from "../../test/e2e/servers/tools/apt.ts";

/** Samples for each second of CPU time: one takes some microseconds. */
const FREQUENCY = 4000;
/** CPU time of a process by what was on the stack, in milliseconds. */
export interface TimeInside {
  readonly all: number;
  /** While a function was on the stack. */
  readonly inside: number;
}

/** Samples the stacks of one process by `perf record`. */
export class StackSampler {
  readonly #file: string;
  readonly #perf: ChildProcess;

  private constructor(perf: ChildProcess, file: string) {
    this.#perf = perf;
    this.#file = file;
  }

  /** Resolves when it samples. @throws {Error} where perf is missing, or may not look at the process */
  static async start(pid: number, file: string): Promise<StackSampler> {
    if (findProgram("perf") === undefined)
      throw new Error("perf is not on PATH: apt-get install linux-perf (on Ubuntu linux-tools-generic)");
    const what = ["-e", "task-clock", "-F", String(FREQUENCY), "-g", "-o", file, "-p", String(pid)];
    // It begins without sampling, starts on request, and reports that it did.
    const control = ["--delay", "-1", "--control", "fd:3,4"];
    const perf = spawn("perf", ["record", ...what, ...control], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    const failed = once(perf, "exit").then(([code]) => {
      throw new Error(`perf record ended with ${code}: may it look at processes of this user?`);
    });
    (perf.stdio[3] as Writable).write("enable\n");
    await Promise.race([once(perf.stdio[4] as Readable, "data"), failed]);
    failed.catch(() => {});
    return new StackSampler(perf, file);
  }

  /** @param symbol a part of the function's name @throws {Error} where nothing was sampled inside of it */
  async stop(symbol: string): Promise<TimeInside> {
    const ended = once(this.#perf, "exit");
    this.#perf.kill("SIGINT");
    await ended;
    const stacks = (await run("perf", ["script", "-i", this.#file])).split("\n\n");
    const count = (part: string) => stacks.filter((stack) => stack.includes(part)).length;
    const inside = count(symbol);
    if (inside === 0) throw new Error(`perf saw nothing of ${symbol}: are there symbols?`);
    return { all: (count("task-clock") * 1000) / FREQUENCY, inside: (inside * 1000) / FREQUENCY };
  }
}
