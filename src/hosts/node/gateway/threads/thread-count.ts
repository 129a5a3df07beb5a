import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import type { Log } from "../../../../assembly/log.ts";
import { MOST_THREADS, type ServeConfig } from "../../../../config/serve-config.ts";
import { memoryLimit } from "../../process-facts.ts";
import { type StartServer, startNodeServer } from "../../server/node-server.ts";
import { cpuLimit } from "./cpu-limit.ts";

/** `auto`: the memory for which one thread starts, in bytes: six times what a further thread takes (docs/how-to/deploy/capacity.md). */
const BYTES_PER_THREAD = 512 * 1024 * 1024;

/** What a process may use. */
export interface Resources {
  /** Cores that it may run on. */
  readonly cores: number;
  /** CPU time, in CPUs; undefined without a limit. */
  readonly cpus: number | undefined;
  readonly memoryBytes: number;
}

/** One thread for each whole CPU, and at most one for 512 MiB, so that a small container on a large machine does not start very many. */
export function autoThreads({ cores, cpus = cores, memoryBytes }: Resources): number {
  const threads = Math.floor(Math.min(cores, cpus, memoryBytes / BYTES_PER_THREAD, MOST_THREADS));
  return Math.max(1, threads);
}

/**
 * How many threads answer clients beside the main thread, which takes pushes. 0, where a runtime cannot have them: the main thread answers, too.
 * @param configured the setting
 */
export async function threadCount(
  configured: ServeConfig["threads"],
  startServer: StartServer,
  log: Log,
): Promise<number> {
  const cores = availableParallelism();
  const threads =
    configured === "auto" ? autoThreads({ cores, cpus: cpuLimit(), memoryBytes: memoryLimit() }) : configured;
  const [most, reason] =
    startServer !== startNodeServer
      ? [0, "this runtime has a server of its own"]
      : threads <= 1 || (await canSharePorts())
        ? [threads]
        : [1, "several sockets of this system cannot listen on one port (SO_REUSEPORT)"];
  if (threads > Math.max(1, most) && configured !== "auto")
    log("warn", "one-thread", `threads: ${threads} is not possible, so one thread answers: ${reason}`);
  return most;
}

/** Whether several sockets of this system may listen on one port, so that it spreads connections over threads (SO_REUSEPORT). */
async function canSharePorts(): Promise<boolean> {
  const tcp = createServer();
  const udp = createSocket({ type: "udp4", reusePort: true });
  try {
    await new Promise<void>((resolve, reject) => {
      tcp.once("error", reject);
      tcp.listen({ host: "127.0.0.1", port: 0, reusePort: true }, resolve);
    });
    await new Promise<void>((resolve, reject) => {
      udp.once("error", reject);
      udp.bind({ address: "127.0.0.1", port: 0 }, () => resolve());
    });
    return true;
  } catch {
    return false;
  } finally {
    tcp.close();
    udp.close();
  }
}
