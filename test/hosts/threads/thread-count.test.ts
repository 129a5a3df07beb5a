import { availableParallelism } from "node:os";
import { describe, expect, it, vi } from "vitest";
import { type StartServer, startNodeServer } from "../../../src/hosts/node/server/node-server.ts";
import { autoThreads, threadCount } from "../../../src/hosts/node/threads/thread-count.ts";

const GIB = 1024 ** 3;
const otherServer: StartServer = () => Promise.reject(new Error("no server"));

describe("threads: auto", () => {
  it.each([
    ["a laptop", { cores: 8, cpus: undefined, memoryBytes: 16 * GIB }, 8],
    ["a single core", { cores: 1, cpus: undefined, memoryBytes: 16 * GIB }, 1],
    ["a container of 1 CPU on 64 cores", { cores: 64, cpus: 1, memoryBytes: 256 * GIB }, 1],
    ["a container of 100m on 64 cores", { cores: 64, cpus: 0.1, memoryBytes: 256 * GIB }, 1],
    ["a container of 2,900m on 64 cores", { cores: 64, cpus: 2.9, memoryBytes: 256 * GIB }, 2],
    ["a limit above the cores", { cores: 2, cpus: 16, memoryBytes: 256 * GIB }, 2],
    ["the container of the manifests", { cores: 64, cpus: 2, memoryBytes: GIB }, 2],
    ["a container with a memory limit alone", { cores: 64, cpus: undefined, memoryBytes: 2 * GIB }, 4],
    ["a container of 256 MiB", { cores: 64, cpus: undefined, memoryBytes: GIB / 4 }, 1],
    ["the largest machine", { cores: 1024, cpus: undefined, memoryBytes: 4096 * GIB }, 256],
  ])("is right for %s", (_, resources, threads) => {
    expect(autoThreads(resources)).toBe(threads);
  });
});

describe("threads that answer clients", () => {
  it("are those of the setting, whatever the machine has", async () => {
    const log = vi.fn();
    const more = availableParallelism() + 3;
    for (const threads of [0, 1, more])
      expect(await threadCount(threads, startNodeServer, log)).toBe(threads);
    expect(log).not.toHaveBeenCalled();
  });

  it("are none on another runtime, with a warning where the setting is more than one", async () => {
    const log = vi.fn();
    for (const threads of ["auto", 0, 1] as const)
      expect(await threadCount(threads, otherServer, log)).toBe(0);
    expect(log).not.toHaveBeenCalled();
    expect(await threadCount(3, otherServer, log)).toBe(0);
    expect(log.mock.calls).toEqual([
      ["warn", "one-thread", expect.stringMatching(/^threads: 3 is not possible.*server of its own/)],
    ]);
  });
});
