import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { expect, it } from "vitest";
import { memoryLimit } from "../../../src/hosts/node/process.ts";
import { autoThreads, cpuLimit } from "../../../src/hosts/node/threads/thread-count.ts";
import { type GatewayOptions, startGateway } from "../harness/processes.ts";

/** How many threads answer the clients of a gateway. */
async function threadsOf(options: GatewayOptions): Promise<number> {
  const gateway = await startGateway(options);
  const { text } = await gateway.http("/metrics");
  const threads = text.match(/^clusterset_doh_thread_connections\{/gm)?.length ?? 0;
  expect(await gateway.stop()).toBe(0);
  return threads;
}

const CORES = /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))![1]!;

it("answers with one thread by default, and with the one that takes pushes for 0", async () => {
  expect(await threadsOf({})).toBe(1);
  expect(await threadsOf({ config: { threads: 0 } })).toBe(0);
});

it("answers with one thread for each CPU that the process may use, for auto", async () => {
  const resources = { cores: availableParallelism(), cpus: cpuLimit(), memoryBytes: memoryLimit() };
  const config = { threads: "auto" };
  expect(await threadsOf({ config })).toBe(autoThreads(resources));
  expect(await threadsOf({ config, runBy: ["taskset", "--cpu-list", CORES] })).toBe(1);
});
