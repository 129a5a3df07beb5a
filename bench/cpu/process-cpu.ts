import { readFileSync } from "node:fs";
import { run } from "../../test/e2e/servers/run.ts";

let ticksPerSecond: number | undefined;

/** The CPU time in microseconds that a process has used, user and system, all its threads (proc_pid_stat(5)). */
export async function cpuMicroseconds(pid: number): Promise<number> {
  ticksPerSecond ??= Number(await run("getconf", ["CLK_TCK"]));
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The program's name, in parentheses, may hold anything. The state behind it is field 3; utime is 14, stime 15.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1e6;
}
