import { readFileSync } from "node:fs";
import { type Clock, createSteadyClock, type Uptime } from "../../gateway/clock.ts";

const boot = readBoot();

/**
 * The clock of this process. Its time and the machine's uptime are monotonic, also while the wall clock is set; neither counts while the machine
 * is suspended.
 */
export const nodeClock: Clock = { ...createSteadyClock(), uptime };

function uptime(): Uptime | undefined {
  // hrtime is CLOCK_MONOTONIC, which all processes of a Linux machine share (clock_gettime(2)).
  return boot === undefined ? undefined : { boot, at: Number(process.hrtime.bigint() / 1_000_000n) };
}

/** The id of the machine's current boot (proc_sys_kernel(5)); undefined if it is unknown. */
function readBoot(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
