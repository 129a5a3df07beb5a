import { availableParallelism } from "node:os";
import { expect, it, vi } from "vitest";
import { type StartServer, startNodeServer } from "../../../src/hosts/node/server/node-server.ts";
import { autoThreads, cpuLimit, threadCount } from "../../../src/hosts/node/threads/thread-count.ts";

const GIB = 1024 ** 3;
const otherServer: StartServer = () => Promise.reject(new Error("no server"));

it.each([
  ["a laptop", { cores: 8, cpus: undefined, memoryBytes: 16 * GIB }, 8],
  ["a single core", { cores: 1, cpus: undefined, memoryBytes: 16 * GIB }, 1],
  ["a container of 100m on 64 cores", { cores: 64, cpus: 0.1, memoryBytes: 256 * GIB }, 1],
  ["a container of 2,900m on 64 cores", { cores: 64, cpus: 2.9, memoryBytes: 256 * GIB }, 2],
  ["a limit above the cores", { cores: 2, cpus: 16, memoryBytes: 256 * GIB }, 2],
  ["the container of the manifests", { cores: 64, cpus: 2, memoryBytes: GIB }, 2],
  ["a container with a memory limit alone", { cores: 64, cpus: undefined, memoryBytes: 2 * GIB }, 4],
  ["a container of 256 MiB", { cores: 64, cpus: undefined, memoryBytes: GIB / 4 }, 1],
  ["the largest machine", { cores: 1024, cpus: undefined, memoryBytes: 4096 * GIB }, 256],
])("threads: auto is right for %s", (_, resources, threads) => {
  expect(autoThreads(resources)).toBe(threads);
});

it("threads that answer clients are those of the setting; on another runtime none, with a warning where the setting is more than one", async () => {
  const log = vi.fn();
  for (const threads of [0, 1, availableParallelism() + 3])
    expect(await threadCount(threads, startNodeServer, log)).toBe(threads);
  for (const threads of ["auto", 0, 1] as const) expect(await threadCount(threads, otherServer, log)).toBe(0);
  expect(log).not.toHaveBeenCalled();
  expect(await threadCount(3, otherServer, log)).toBe(0);
  expect(log.mock.calls).toEqual([
    ["warn", "one-thread", expect.stringMatching(/^threads: 3 is not possible.*server of its own/)],
  ]);
});

const V1 = "12:pids:/pod\n4:cpu,cpuacct:/kubepods/pod\n3:cpuset:/pod\n0::/\n";
/** The files of cgroup v2, by the process's own cgroup, and the limits of cgroups. */
const v2 = (own: string, limits: Readonly<Record<string, string>>) => ({
  "/proc/self/cgroup": `0::${own}\n`,
  ...Object.fromEntries(Object.entries(limits).map(([at, max]) => [`/sys/fs/cgroup${at}/cpu.max`, max])),
});
const nested = (own: string, above: string, top: string) =>
  v2("/kubepods/pod/container", {
    "/kubepods/pod/container": `${own} 100000`,
    "/kubepods/pod": `${above} 100000`,
    "/kubepods": `${top} 100000`,
  });
/** Those of cgroup v1, where the mount, or the cgroup at a path below it, has a quota. */
const v1 = (cgroup: string, quotas: Readonly<Record<string, string>>) => ({
  "/proc/self/cgroup": cgroup,
  ...Object.fromEntries(
    Object.entries(quotas).flatMap(([at, quota]) => [
      [`/sys/fs/cgroup/cpu${at}/cpu.cfs_quota_us`, `${quota}\n`],
      [`/sys/fs/cgroup/cpu${at}/cpu.cfs_period_us`, "100000\n"],
    ]),
  ),
});

it.each<[string, Readonly<Record<string, string>>, cpus: number | undefined]>([
  ["2 CPUs in a container", v2("/", { "": "200000 100000\n" }), 2],
  ["a tenth of a CPU", v2("/", { "": "10000 100000\n" }), 0.1],
  ["one and a half CPUs with another period", v2("/", { "": "75000 50000\n" }), 1.5],
  ["no limit", v2("/", { "": "max 100000\n" }), undefined],
  ["that of the middle one of three cgroups", nested("400000", "100000", "800000"), 1],
  ["that of the lowest one", nested("50000", "max", "800000"), 0.5],
  ["that of none of them", nested("max", "max", "max"), undefined],
  ["that of the mount below its host's path", v2("/system.slice/a", { "": "100000 100000" }), 1],
  ["that of the mount outside of its namespace", v2("/../../kubepods", { "": "100000 100000" }), 1],
  ["that of cgroup v1", v1(V1, { "": "150000" }), 1.5],
  ["that of v1, whichever shares it", v1(V1.replace("cpu,cpuacct", "cpuacct,cpu"), { "": "150000" }), 1.5],
  ["none of v1", v1(V1, { "": "-1" }), undefined],
  ["that of the process's own cgroup of v1", v1(V1, { "": "-1", "/kubepods/pod": "50000" }), 0.5],
  ["none without cgroups", {}, undefined],
  ["none with files of another kind", { "/proc/self/cgroup": "nonsense\n\n" }, undefined],
  ["none with an empty file", v2("/", { "": "" }), undefined],
  ["none with a period of 0", v2("/", { "": "100000 0" }), undefined],
  ["none where only sets of CPUs are limited", v1("3:cpuset:/\n", { "": "50000" }), undefined],
])("the CPU limit of a process is %s", (_, files, cpus) => {
  expect(cpuLimit((path) => files[path])).toBe(cpus);
});
