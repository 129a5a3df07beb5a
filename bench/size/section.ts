import type { GatewayProcess } from "../../test/e2e/harness/processes.ts";
import { Poller } from "../change/poll.ts";
import { pidOf } from "../cpu/contenders.ts";
import { residentMemory } from "../processes/resident-memory.ts";
import { withStops } from "../processes/stops.ts";
import type { Effort, Goal, Progress, Section, Table } from "../report/report.ts";
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
/** Each round takes minutes. */
const MOST_ROUNDS = 2;

const QUANTITIES = [
  { name: "bytes per endpoint in the zone", unit: "B", atMost: 1.2 },
  { name: "resident memory of the gateway after the pushes", unit: "MiB", atMost: 12 },
  { name: "resident memory at most", unit: "MiB", atMost: 12 },
  { name: "resident memory after the restart", unit: "MiB", atMost: 12 },
  { name: "restart to the first answer", unit: "ms", atMost: 12 },
  { name: "full pushes of all clusters until acknowledged", unit: "ms", atMost: 12 },
] as const;

type Quantity = (typeof QUANTITIES)[number]["name"];

/** What a gateway takes that holds a large clusterset. */
export const sizeSection: Section = {
  name: "size",
  summary: "1,000,000 endpoints in 50,000 services of 100 clusters: bytes, memory, restart, pushes",
  async measure(effort, progress) {
    const worlds = ENDPOINTS[effort.isSmall ? "small" : "full"].map(wideWorld);
    const samples = new Map(QUANTITIES.map(({ name }) => [name, new Samples()]));
    for (let round = 1; round <= Math.min(effort.rounds, MOST_ROUNDS); round++)
      for (const world of worlds)
        await measureWorld(world, effort, progress, (quantity, value) =>
          samples
            .get(quantity)!
            .add(describe(world), QUANTITIES.find(({ name }) => name === quantity)!.unit, value),
        );
    const [little, much] = worlds.map(describe) as [string, string];
    return QUANTITIES.map(({ name, atMost }): Table => {
      const { rows } = samples.get(name)!;
      return {
        title: `${name[0]!.toUpperCase()}${name.slice(1)}`,
        rows,
        baselines: [little],
        goals: [{ row: much, dividedBy: little, atMost }, ...absoluteGoals(name, much, effort)],
        notes: [],
      };
    });
  },
};

function absoluteGoals(quantity: Quantity, row: string, { isSmall }: Effort): Goal[] {
  if (quantity === "bytes per endpoint in the zone") return [{ row, atMost: 130 }];
  if (quantity === "resident memory of the gateway after the pushes" && !isSmall)
    return [{ row, atMost: 1.2e9 / MEBIBYTE }];
  return [];
}

function measureWorld(
  world: WideWorld,
  _effort: Effort,
  progress: Progress,
  add: (quantity: Quantity, value: number) => void,
): Promise<void> {
  return withStops(async (stops) => {
    const gateway = await startWideGateway(world);
    stops.push(() => gateway.kill());
    const pushed = await pushWideWorld(gateway, world, progress);
    add("full pushes of all clusters until acknowledged", pushed);
    const poller = new Poller(`${gateway.url}/dns-query`, gateway.ca);
    stops.push(() => poller.close());
    await answersAll(poller, world);
    add("bytes per endpoint in the zone", (await zoneBytes(gateway)) / wideEndpoints(world));
    const { now, peak } = residentMemory(pidOf(gateway.process));
    add("resident memory of the gateway after the pushes", now / MEBIBYTE);
    add("resident memory at most", peak / MEBIBYTE);
    progress(`${describe(world)}: restarting`);
    await gateway.process.stop();
    const begun = performance.now();
    gateway.process.spawn();
    await answersAll(poller, world);
    add("restart to the first answer", performance.now() - begun);
    add("resident memory after the restart", residentMemory(pidOf(gateway.process)).now / MEBIBYTE);
  });
}

/** Asks for the last service of the world until all of its endpoints are answered. @throws {Error} after two minutes */
async function answersAll(poller: Poller, { services }: WideWorld): Promise<void> {
  await poller.waitForCount(wideQuery(services - 1), EXPORTERS * ENDPOINTS_PER_EXPORT, 120_000);
}

/** The size of what answers are copied from. */
async function zoneBytes({ http }: GatewayProcess): Promise<number> {
  const { text } = await http("/metrics");
  const bytes = /^clusterset_doh_generation_bytes (\d+)/m.exec(text)?.[1];
  if (bytes === undefined) throw new Error("the gateway does not say how large its generation is");
  return Number(bytes);
}

function describe(world: WideWorld): string {
  return `${wideEndpoints(world).toLocaleString("en")} endpoints`;
}
