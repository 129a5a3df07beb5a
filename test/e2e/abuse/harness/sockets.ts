import { readdirSync, readlinkSync } from "node:fs";
import { processOf } from "./memory.ts";

/** How many sockets a process has open (proc(5), fd). */
export function socketsOf(pid: number): number {
  const folder = `/proc/${processOf(pid)}/fd`;
  return readdirSync(folder).filter((name) => {
    try {
      return readlinkSync(`${folder}/${name}`).startsWith("socket:");
    } catch {
      // Closed since.
      return false;
    }
  }).length;
}
