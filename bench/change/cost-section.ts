import { setTimeout as sleep } from "node:timers/promises";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import { withStops } from "../processes/stops.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { type Chain, startChain } from "./chain.ts";

const SERVICES = { small: [300, 3000], full: [1000, 10_000, 100_000] };
const CHANGES = { small: 6, full: 10 };
/** How long the processes are looked at while nothing changes, in milliseconds. */
const IDLE = { small: 3000, full: 10_000 };
/**
 * Changes before the first that counts: until V8 has compiled what they run, each costs about twice as much.
 */
const WARM_UP = 30;
const PROCESSES = ["worker", "gateway", "secondary"] as const;

/** What one changed endpoint costs on its way. */
export const costSection: Section = {
  name: "change-cost",
  summary: "CPU time of worker, gateway and secondary for one changed endpoint, by the number of services",
  async measure(effort, progress) {
    const size = effort.isSmall ? "small" : "full";
    const samples = new Map(PROCESSES.map((name) => [name as string, new Samples()]));
    for (const services of SERVICES[size]) await measureServices(services, effort, samples, progress);
    return PROCESSES.map((name) => tableOf(name, samples.get(name)!, SERVICES[size], CHANGES[size]));
  },
};

function measureServices(
  services: number,
  { isSmall, rounds }: Effort,
  samples: ReadonlyMap<string, Samples>,
  progress: Progress,
): Promise<void> {
  const size = isSmall ? "small" : "full";
  return withStops(async (stops) => {
    progress(`${services} services: starting worker, gateway and secondary`);
    const chain = await startChain(services, stops);
    for (let change = 0; change < WARM_UP; change++) await chain.change();
    for (let round = 1; round <= rounds; round++) {
      progress(`${services} services: round ${round} of ${rounds}`);
      const idle = await cpuOf(chain, () => sleep(IDLE[size]));
      const changing = await cpuOf(chain, async () => {
        for (let change = 0; change < CHANGES[size]; change++) await chain.change();
      });
      for (const name of PROCESSES) {
        const base = (idle.cpu[name] / idle.milliseconds) * changing.milliseconds;
        samples.get(name)!.add(describe(services), "ms", (changing.cpu[name] - base) / CHANGES[size]);
      }
    }
  });
}

interface Spent {
  readonly milliseconds: number;
  /** CPU time of each process in milliseconds. */
  readonly cpu: Readonly<Record<(typeof PROCESSES)[number], number>>;
}

async function cpuOf({ pids }: Chain, work: () => Promise<unknown>): Promise<Spent> {
  const before = PROCESSES.map((name) => readThreadTimes(pids[name]));
  const begun = performance.now();
  await work();
  const milliseconds = performance.now() - begun;
  const [worker, gateway, secondary] = PROCESSES.map(
    (name, index) => cpuMicrosecondsSince(before[index]!, pids[name]) / 1000,
  ) as [number, number, number];
  return { milliseconds, cpu: { worker, gateway, secondary } };
}

function tableOf(process: string, { rows }: Samples, sizes: readonly number[], changes: number): Table {
  const [first, last] = [describe(sizes[0]!), describe(sizes.at(-1)!)];
  return {
    title: `CPU time of the ${process} for one changed endpoint`,
    rows,
    baselines: [first],
    goals: [{ row: last, dividedBy: first, atMost: 1.5 }],
    ofMedians: true,
    notes: [
      `${changes} changes in each round, each when the one before is answered by the secondary, less what the processes take in the same time while nothing changes. The secondary is asked 20 times a second throughout.`,
    ],
  };
}

function describe(services: number): string {
  return `${services.toLocaleString("en")} services`;
}
