import { setTimeout } from "node:timers/promises";
import { Poller } from "../change/poll.ts";
import { pidOf } from "../cpu/contenders.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import { residentMemory } from "../processes/resident-memory.ts";
import { withStops } from "../processes/stops.ts";
import type { Progress, Section, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import {
  ENDPOINTS_PER_EXPORT,
  EXPORTERS,
  type WideWorld,
  wideEndpoints,
  wideQuery,
  wideWorld,
} from "../worlds/wide-world.ts";
import { pushWideWorld, startWideGateway } from "./held-world.ts";

const MEBIBYTE = 1024 * 1024;
const ENDPOINTS = { small: [4000, 40_000], full: [100_000, 1_000_000] };
/** V8 returns what the pushes left behind once its process has been idle for some seconds. Milliseconds. */
const SETTLING = 15_000;
/** Each round takes minutes. */
const MOST_ROUNDS = 2;

/** By its name: its unit, and the most for the smaller and the larger world. */
const QUANTITIES = {
  "CPU time of the full pushes of all clusters": { unit: "s", goals: [4.5, 50] },
  "full pushes of all clusters until acknowledged": { unit: "ms", goals: [] },
  "resident memory of the gateway after the last acknowledgement": { unit: "MiB", goals: [250, 380] },
  "resident memory 15 seconds later": { unit: "MiB", goals: [250, 380] },
  "resident memory at most": { unit: "MiB", goals: [] },
  "kill -9 to the first answer": { unit: "ms", goals: [1000, 1500] },
  "resident memory after the restart": { unit: "MiB", goals: [] },
} as const;

type Quantity = keyof typeof QUANTITIES;

/** What a gateway takes that holds a large clusterset. */
export const sizeSection: Section = {
  name: "size",
  summary: "1,000,000 endpoints in 50,000 services of 100 clusters: pushes, memory, restart",
  async measure(effort, progress) {
    const worlds = ENDPOINTS[effort.isSmall ? "small" : "full"].map(wideWorld);
    const tables = Object.entries(QUANTITIES).map(
      ([name, quantity]) => [name, { ...quantity, samples: new Samples() }] as const,
    );
    const samples = new Map(tables);
    for (let round = 1; round <= Math.min(effort.rounds, MOST_ROUNDS); round++)
      for (const world of worlds)
        await measureWorld(world, progress, (name, value) => {
          const { samples: of, unit } = samples.get(name)!;
          of.add(describe(world), unit, value);
        });
    return tables.map(
      ([
        name,
        {
          goals,
          samples: { rows },
        },
      ]): Table => ({
        title: `${name[0]!.toUpperCase()}${name.slice(1)}`,
        rows,
        baselines: [describe(worlds[0]!)],
        goals: effort.isSmall
          ? []
          : goals.map((atMost, index) => ({ row: describe(worlds[index]!), atMost })),
        notes: [],
      }),
    );
  },
};

function measureWorld(
  world: WideWorld,
  progress: Progress,
  add: (quantity: Quantity, value: number) => void,
): Promise<void> {
  return withStops(async (stops) => {
    const gateway = await startWideGateway(world);
    stops.push(() => gateway.kill());
    const pid = pidOf(gateway.process);
    const before = readThreadTimes(pid);
    add("full pushes of all clusters until acknowledged", await pushWideWorld(gateway, world, progress));
    add("CPU time of the full pushes of all clusters", cpuMicrosecondsSince(before, pid) / 1e6);
    const poller = new Poller(`${gateway.url}/dns-query`, gateway.ca);
    stops.push(() => poller.close());
    await answersAll(poller, world);
    const { now, peak } = residentMemory(pid);
    add("resident memory of the gateway after the last acknowledgement", now / MEBIBYTE);
    add("resident memory at most", peak / MEBIBYTE);
    await setTimeout(SETTLING);
    add("resident memory 15 seconds later", residentMemory(pid).now / MEBIBYTE);
    progress(`${describe(world)}: killed, and started again`);
    const begun = performance.now();
    await gateway.process.kill();
    gateway.process.spawn();
    await answersAll(poller, world);
    add("kill -9 to the first answer", performance.now() - begun);
    add("resident memory after the restart", residentMemory(pidOf(gateway.process)).now / MEBIBYTE);
  });
}

/**
 * Asks for the last service of the world until all of its endpoints are answered.
 * @throws {Error} after two minutes
 */
async function answersAll(poller: Poller, { services }: WideWorld): Promise<void> {
  await poller.waitForCount(wideQuery(services - 1), EXPORTERS * ENDPOINTS_PER_EXPORT, 120_000);
}

function describe(world: WideWorld): string {
  return `${wideEndpoints(world).toLocaleString("en")} endpoints`;
}
