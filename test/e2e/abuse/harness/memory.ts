import { readFileSync } from "node:fs";

const MIB = 1024 * 1024;

/** The resident memory of a process in MiB (proc(5), VmRSS). */
export function residentMebibytes(pid: number): number {
  const [line] = /^VmRSS:\s+\d+ kB$/m.exec(readFileSync(`/proc/${processOf(pid)}/status`, "utf8")) ?? [];
  if (line === undefined) throw new Error(`process ${pid} has no memory: it has ended`);
  return (Number(/\d+/.exec(line)![0]) * 1024) / MIB;
}

/** Looks at the memory of a process again and again, for its peak. */
export class MemoryWatch {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  /** MiB at the start. */
  readonly before: number;
  #peak: number;

  constructor(pid: number | undefined) {
    if (pid === undefined) throw new Error("the process has ended");
    this.#pid = pid;
    this.before = residentMebibytes(pid);
    this.#peak = this.before;
    this.#timer = setInterval(() => this.#look(), 100).unref();
  }

  /** Ends it. @returns by how many MiB the process was larger than at the start, at most */
  stop(): number {
    clearInterval(this.#timer);
    this.#look();
    return Math.round(this.#peak - this.before);
  }

  #look(): void {
    try {
      this.#peak = Math.max(this.#peak, residentMebibytes(this.#pid));
    } catch (error) {
      // Reported by `stop`, which looks again.
      clearInterval(this.#timer);
      this.#peak = Number.POSITIVE_INFINITY;
      if (!(error instanceof Error)) throw error;
    }
  }
}

/** Where the command line runs in a Node of its own below the process: that one, else the process itself. */
export function processOf(pid: number): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return child ? processOf(Number(child)) : pid;
}
