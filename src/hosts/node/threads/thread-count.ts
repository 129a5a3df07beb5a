import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import type { Log } from "../../../assembly/log.ts";
import { MOST_THREADS, type ServeConfig } from "../../../config/settings.ts";
import { listen } from "../listen.ts";
import { memoryLimit } from "../process.ts";
import { type StartServer, startNodeServer } from "../server/node-server.ts";

/**
 * `auto`: the memory for which one thread starts, in bytes: six times what a further thread takes
 * (docs/how-to/deploy/capacity.md).
 */
const BYTES_PER_THREAD = 512 * 1024 * 1024;

/** What a process may use. */
export interface Resources {
  /** Cores that it may run on. */
  readonly cores: number;
  /** CPU time, in CPUs; undefined without a limit. */
  readonly cpus: number | undefined;
  readonly memoryBytes: number;
}

/**
 * One thread for each whole CPU, and at most one for 512 MiB, so that a small container on a large machine
 * does not start very many.
 */
export function autoThreads({ cores, cpus = cores, memoryBytes }: Resources): number {
  const threads = Math.floor(Math.min(cores, cpus, memoryBytes / BYTES_PER_THREAD, MOST_THREADS));
  return Math.max(1, threads);
}

/**
 * How many threads answer clients beside the main thread, which takes pushes. 0, where a runtime cannot have
 * them: the main thread answers, too.
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

/**
 * Whether several sockets of this system may listen on one port, so that it spreads connections over threads
 * (SO_REUSEPORT).
 */
async function canSharePorts(): Promise<boolean> {
  const tcp = createServer();
  const udp = createSocket({ type: "udp4", reusePort: true });
  try {
    await listen(tcp, { host: "127.0.0.1", port: 0, reusePort: true });
    await once(udp.bind(0, "127.0.0.1"), "listening");
    return true;
  } catch {
    return false;
  } finally {
    tcp.close();
    udp.close();
  }
}

/** The text of a file; undefined if it cannot be read. */
type ReadText = (path: string) => string | undefined;

const MOUNT = "/sys/fs/cgroup";

/**
 * The CPU time that the cgroup of this process may use, in CPUs; undefined without a limit, and on other
 * systems than Linux. `os.availableParallelism()` ignores limits below one CPU (libuv 1.51), those of cgroup
 * v1, and the lowest of several in a hierarchy.
 */
export function cpuLimit(read: ReadText = readText): number | undefined {
  const limits = (read("/proc/self/cgroup") ?? "").split("\n").flatMap((line) => {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path === "") return [];
    if (controllers === "") return foldersUpTo(MOUNT, path).map((folder) => limitOf2(folder, read));
    if (!controllers.split(",").includes("cpu")) return [];
    return foldersUpTo(`${MOUNT}/cpu`, path).map((folder) => limitOf1(folder, read));
  });
  return limits.reduce<number | undefined>(
    (least, limit) => (limit === undefined || (least ?? limit) < limit ? least : limit),
    undefined,
  );
}

/**
 * The folder of a cgroup and all above it. In a container only the mount may exist, which is its own cgroup
 * there.
 */
function foldersUpTo(mount: string, path: string): string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== "..");
  return Array.from({ length: names.length + 1 }, (_, depth) => [mount, ...names.slice(0, depth)].join("/"));
}

/**
 * Linux, Documentation/admin-guide/cgroup-v2.rst: `cpu.max` has "$MAX $PERIOD" in microseconds; `max` is no
 * limit.
 */
function limitOf2(folder: string, read: ReadText): number | undefined {
  const [quota, period] = (read(`${folder}/cpu.max`) ?? "").trim().split(" ");
  return quotient(quota, period);
}

/** Linux, Documentation/scheduler/sched-bwc.rst: a quota of -1 is no limit. */
function limitOf1(folder: string, read: ReadText): number | undefined {
  return quotient(read(`${folder}/cpu.cfs_quota_us`), read(`${folder}/cpu.cfs_period_us`));
}

function quotient(quota: string | undefined, period: string | undefined): number | undefined {
  const cpus = Number.parseInt(quota ?? "", 10) / Number.parseInt(period ?? "", 10);
  return Number.isFinite(cpus) && cpus > 0 ? cpus : undefined;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
