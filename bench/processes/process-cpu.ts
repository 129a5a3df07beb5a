import { readdirSync, readFileSync } from "node:fs";

/** The CPU time in nanoseconds that each thread of a process has used, user and system, by thread id. */
export type ThreadTimes = ReadonlyMap<string, number>;

/**
 * Reads the files `schedstat` below `/proc/<pid>/task`, which counts nanoseconds, where `/proc/<pid>/stat`
 * counts hundredths of a second.
 * @throws {Error} where the kernel does not account for it
 */
export function readThreadTimes(pid: number): ThreadTimes {
  const folder = `/proc/${pid}/task`;
  const times = new Map<string, number>();
  for (const thread of readdirSync(folder)) {
    const spent = Number(readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0]);
    times.set(thread, spent);
  }
  if (![...times.values()].some((spent) => spent > 0))
    throw new Error(
      `the files schedstat below ${folder} say nothing: measure on a Linux kernel with CONFIG_SCHED_INFO`,
    );
  return times;
}

/** Microseconds of CPU time from `before` until now. A thread that ended in between is not counted. */
export function cpuMicrosecondsSince(before: ThreadTimes, pid: number): number {
  let nanoseconds = 0;
  for (const [thread, spent] of readThreadTimes(pid)) nanoseconds += spent - (before.get(thread) ?? 0);
  return nanoseconds / 1000;
}
