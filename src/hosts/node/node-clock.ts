import { readFileSync } from "node:fs";
import { type Clock, createSteadyClock, type Uptime } from "../../gateway/clock.ts";

const boot = readBoot();

/**
 * The clock of this process. Its time, and its machine's uptime, go on evenly while the wall clock is set; neither counts what the machine spends
 * suspended.
 */
export const nodeClock: Clock = { ...createSteadyClock(), uptime };

function uptime(): Uptime | undefined {
  // hrtime is CLOCK_MONOTONIC, which all processes of a Linux machine share (clock_gettime(2)).
  return boot === undefined ? undefined : { boot, at: Number(process.hrtime.bigint() / 1_000_000n) };
}

/** Which start of the machine this is (proc_sys_kernel(5)); undefined where that is not known. */
function readBoot(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
