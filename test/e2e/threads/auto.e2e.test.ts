import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { expect, it } from "vitest";
import { cpuLimit } from "../../../src/hosts/node/gateway/threads/cpu-limit.ts";
import { autoThreads } from "../../../src/hosts/node/gateway/threads/thread-count.ts";
import { memoryLimit } from "../../../src/hosts/node/process-facts.ts";
import { type GatewayOptions, startGateway } from "../harness/processes.ts";

/** How many threads answer the clients of a gateway. */
async function threadsOf(options: GatewayOptions): Promise<number> {
  const gateway = await startGateway(options);
  const { text } = await gateway.http("/metrics");
  const threads = text.match(/^clusterset_doh_thread_connections\{/gm)?.length ?? 1;
  expect(await gateway.stop()).toBe(0);
  return threads;
}

const CORES = /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))![1]!;

it("answers with one thread for each CPU that the process may use, by default", async () => {
  const resources = { cores: availableParallelism(), cpus: cpuLimit(), memoryBytes: memoryLimit() };
  expect(await threadsOf({})).toBe(autoThreads(resources));
  expect(await threadsOf({ config: { threads: "auto" } })).toBe(autoThreads(resources));
});

it("answers with one thread on one CPU, and with more where the setting is a number", async () => {
  const runBy = ["taskset", "--cpu-list", CORES];
  expect(await threadsOf({ runBy })).toBe(1);
  expect(await threadsOf({ runBy, config: { threads: 2 } })).toBe(2);
});
