import { readFileSync, writeFileSync } from "node:fs";

/** What a process takes of the machine's memory, in bytes: now, and at most since `forgetPeak`. */
export function residentMemory(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const bytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024;
  return { now: bytes("VmRSS"), peak: bytes("VmHWM") };
}

/** From now on the peak counts anew (proc(5), clear_refs). */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
