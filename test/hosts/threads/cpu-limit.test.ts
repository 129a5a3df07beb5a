import { describe, expect, it } from "vitest";
import { cpuLimit } from "../../../src/hosts/node/threads/thread-count.ts";

/** The CPU limit of a process that sees these files, by their paths. */
function limitWith(files: Readonly<Record<string, string>>): number | undefined {
  return cpuLimit((path) => files[path]);
}

const own2 = (path: string) => ({ "/proc/self/cgroup": `0::${path}\n` });
const V1 = "12:pids:/pod\n4:cpu,cpuacct:/kubepods/pod\n3:cpuset:/pod\n0::/\n";

describe("the CPU limit of a process", () => {
  it.each([
    ["2 CPUs", "200000 100000\n", 2],
    ["a tenth of a CPU", "10000 100000\n", 0.1],
    ["one and a half CPUs with another period", "75000 50000\n", 1.5],
    ["no limit", "max 100000\n", undefined],
  ])("is that of cgroup v2 in a container: %s", (_, text, cpus) => {
    expect(limitWith({ ...own2("/"), "/sys/fs/cgroup/cpu.max": text })).toBe(cpus);
  });

  it("is the least of a cgroup and all above it", () => {
    const cgroups = (own: string, above: string, top: string) =>
      limitWith({
        ...own2("/kubepods/pod/container"),
        "/sys/fs/cgroup/kubepods/pod/container/cpu.max": own,
        "/sys/fs/cgroup/kubepods/pod/cpu.max": above,
        "/sys/fs/cgroup/kubepods/cpu.max": top,
      });
    expect(cgroups("400000 100000", "100000 100000", "800000 100000")).toBe(1);
    expect(cgroups("50000 100000", "max 100000", "800000 100000")).toBe(0.5);
    expect(cgroups("max 100000", "max 100000", "max 100000")).toBeUndefined();
  });

  it("is that of the mount where a container sees the path of its host, or a path outside of its namespace", () => {
    const mounted = { "/sys/fs/cgroup/cpu.max": "100000 100000" };
    expect(limitWith({ ...own2("/system.slice/docker-1.scope"), ...mounted })).toBe(1);
    expect(limitWith({ ...own2("/../../kubepods"), ...mounted })).toBe(1);
  });

  it("is that of cgroup v1 in a container, whichever controllers share its hierarchy", () => {
    const files = (cgroup: string, quota: string) => ({
      "/proc/self/cgroup": cgroup,
      "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": quota,
      "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    });
    expect(limitWith(files(V1, "150000\n"))).toBe(1.5);
    expect(limitWith(files(V1.replace("cpu,cpuacct", "cpuacct,cpu"), "150000\n"))).toBe(1.5);
    expect(limitWith(files(V1, "-1\n"))).toBeUndefined();
  });

  it("is that of the cgroup v1 of the process where the process sees it", () => {
    const files = {
      "/proc/self/cgroup": V1,
      "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
      "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
      "/sys/fs/cgroup/cpu/kubepods/pod/cpu.cfs_quota_us": "50000\n",
      "/sys/fs/cgroup/cpu/kubepods/pod/cpu.cfs_period_us": "100000\n",
    };
    expect(limitWith(files)).toBe(0.5);
  });

  it("is none without cgroups, with files of another kind, and where only sets of CPUs are limited", () => {
    expect(limitWith({})).toBeUndefined();
    expect(limitWith({ "/proc/self/cgroup": "nonsense\n\n" })).toBeUndefined();
    expect(limitWith({ ...own2("/"), "/sys/fs/cgroup/cpu.max": "" })).toBeUndefined();
    expect(limitWith({ ...own2("/"), "/sys/fs/cgroup/cpu.max": "100000 0" })).toBeUndefined();
    const cpuset = { "/proc/self/cgroup": "3:cpuset:/\n", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000" };
    expect(limitWith({ ...cpuset, "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000" })).toBeUndefined();
  });
});
