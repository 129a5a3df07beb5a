import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { GatewayProcess } from "../../harness/processes.ts";
import { processOf, residentMebibytes } from "./memory.ts";

const PRELOAD = fileURLToPath(new URL("collect-at-signal.ts", import.meta.url));

/** The environment of gateways whose held memory is measured. */
export const MEASURED = { NODE_OPTIONS: `--import=${PRELOAD}` };

/** The resident memory of a gateway in MiB, without garbage: how much of that there is depends on how busy the machine is. */
export async function heldMebibytes(gateway: GatewayProcess): Promise<number> {
  const pid = processOf(gateway.process.pid!);
  if (!readFileSync(`/proc/${pid}/environ`, "utf8").includes(PRELOAD))
    throw new Error("the gateway was not started with MEASURED");
  process.kill(pid, "SIGUSR2");
  // The signal may come right behind the first of these, but not behind the second.
  for (let round = 0; round < 2; round++) await gateway.http("/healthz");
  return residentMebibytes(pid);
}
