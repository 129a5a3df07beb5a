import { readFileSync } from "node:fs";

/** The text of a file; undefined if it cannot be read. */
export type ReadText = (path: string) => string | undefined;

const MOUNT = "/sys/fs/cgroup";

/**
 * The CPU time that the cgroup of this process may use, in CPUs; undefined without a limit, and on other systems than Linux.
 * `os.availableParallelism()` ignores limits below one CPU (libuv 1.51), those of cgroup v1, and the lowest of several in a hierarchy.
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

/** The folder of a cgroup and all above it. In a container only the mount may exist, which is its own cgroup there. */
function foldersUpTo(mount: string, path: string): string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== "..");
  return Array.from({ length: names.length + 1 }, (_, depth) => [mount, ...names.slice(0, depth)].join("/"));
}

/** Linux, Documentation/admin-guide/cgroup-v2.rst: `cpu.max` has "$MAX $PERIOD" in microseconds; `max` is no limit. */
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
