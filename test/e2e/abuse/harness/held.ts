import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { GatewayProcess } from "../../harness/processes.ts";

const PRELOAD = fileURLToPath(new URL("collect-at-signal.ts", import.meta.url));

/** The environment of gateways whose held memory is measured. */
export const MEASURED = { NODE_OPTIONS: `--import=${PRELOAD}` };

/**
 * The resident memory of a gateway in MiB, without garbage: how much of that there is depends on how busy the
 * machine is.
 */
export async function heldMebibytes(gateway: GatewayProcess): Promise<number> {
  const pid = processOf(gateway.process.pid!);
  if (!readFileSync(`/proc/${pid}/environ`, "utf8").includes(PRELOAD))
    throw new Error("the gateway was not started with MEASURED");
  process.kill(pid, "SIGUSR2");
  // The main thread answers these. The signal may come right behind the first one, but not behind the second.
  for (let round = 0; round < 2; round++) await gateway.http("/metrics");
  return residentMebibytes(pid);
}

/** The resident memory of a process in MiB (proc(5), VmRSS), with garbage. */
export function residentMebibytes(pid: number): number {
  const [line] = /^VmRSS:\s+\d+ kB$/m.exec(readFileSync(`/proc/${processOf(pid)}/status`, "utf8")) ?? [];
  if (line === undefined) throw new Error(`process ${pid} has no memory: it has ended`);
  return Number(/\d+/.exec(line)![0]) / 1024;
}

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

/** Where the command line runs in a Node of its own below the process: that one, else the process itself. */
export function processOf(pid: number): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return child ? processOf(Number(child)) : pid;
}
