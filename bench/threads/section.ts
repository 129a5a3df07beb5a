import { type GatewayProcess, startGateway } from "../../test/e2e/harness/processes.ts";
import { pidOf } from "../cpu/contenders.ts";
import { residentMemory } from "../processes/resident-memory.ts";
import { type Stop, withStops } from "../processes/stops.ts";
import { LONG_LEASES, pushSnapshot } from "../push.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { loadedSnapshots } from "../worlds/asked.ts";
import { measureCpu } from "./cpu.ts";
import { LARGE, measurePushes } from "./pushes.ts";
import { measureSpread } from "./spread.ts";
import type { Threaded } from "./threaded.ts";

/** The numbers of threads that are compared. */
const COUNTS = [1, 2, 4] as const;
/** What is measured otherwise without waiting for the budget of one cluster. */
const LIMITS = { pushValuesPerSecond: 10_000_000 };
const MIB = 1024 * 1024;

/** What several threads that answer cost and bring. */
export const threadsSection: Section = {
  name: "threads",
  summary:
    "one, two and four threads: spread of connections, CPU time for each query, memory, gaps during full pushes",
  measure: (effort, progress) => withStops((stops) => measureThreads(effort, progress, stops)),
};

async function measureThreads(effort: Effort, progress: Progress, stops: Stop[]): Promise<Table[]> {
  const started: Threaded[] = [];
  for (const threads of COUNTS) {
    const name = nameOf(threads);
    progress(`starting a gateway with ${name}`);
    started.push({ name, threads, gateway: await startThreaded(threads, stops) });
  }
  const cpu = await measureCpu(started, effort, progress);
  const memory = memoryOf(started);
  const spread = await measureSpread(
    started.filter(({ threads }) => threads > 1),
    effort,
    progress,
  );
  return [cpu, memory, spread, ...(await measurePushes(started, effort, progress, stops))];
}

async function startThreaded(threads: number, stops: Stop[]): Promise<GatewayProcess> {
  const held = loadedSnapshots();
  const gateway = await startGateway({
    clusters: [...held.map(({ clusterId }) => clusterId), LARGE],
    config: { ...LONG_LEASES, limits: LIMITS, access: { public: true }, threads },
  });
  stops.push(() => gateway.stop());
  for (const snapshot of held) await pushSnapshot(gateway, snapshot);
  return gateway;
}

/** What the processes take after the load, which gave each thread its buffers and compiled code. */
function memoryOf(started: readonly Threaded[]): Table {
  const mebibytes = started.map(({ gateway }) => residentMemory(pidOf(gateway.process)).now / MIB);
  const [fewer, most] = started.slice(-2);
  const further = (mebibytes.at(-1)! - mebibytes.at(-2)!) / (most!.threads - fewer!.threads);
  const rows = started.map(({ name }, index) => ({ name, unit: "MiB", samples: [mebibytes[index]!] }));
  return {
    title: "Resident memory by the number of threads",
    rows: [...rows, { name: "each further thread", unit: "MiB", samples: [further] }],
    baselines: [],
    goals: [],
    notes: [
      "Of one process each after the load above, garbage included.",
      `From two on the main thread does not answer. A further thread is half of the difference between ${fewer!.name} and ${most!.name}.`,
    ],
  };
}

function nameOf(threads: number): string {
  return threads === 1 ? "1 thread" : `${threads} threads`;
}
