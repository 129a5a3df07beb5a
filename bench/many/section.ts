import { type Stop, withStops } from "../processes/stops.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { wideEndpoints, wideWorld } from "../worlds/wide-world.ts";
import { measureEngine } from "./engine-cost.ts";
import { measureReach } from "./reach.ts";
import { measureReaders } from "./readers.ts";
import { startSharedWorld } from "./shared-world.ts";

const ENDPOINTS = { small: 20_000, full: 1_000_000 };
const CHANGES = { small: 20, full: 60 };

/** What gateways cost that share an engine. */
export const manySection: Section = {
  name: "many",
  summary: "two gateways with one Redis: a change at both, what it costs the engine, secondaries",
  measure: (effort, progress) => withStops((stops) => measureMany(effort, progress, stops)),
};

async function measureMany(
  { isSmall, endpoints, rounds }: Effort,
  progress: Progress,
  stops: Stop[],
): Promise<Table[]> {
  const size = isSmall ? "small" : "full";
  const world = wideWorld(endpoints ?? ENDPOINTS[size]);
  progress("starting redis-server and two gateways");
  const shared = await startSharedWorld(world, progress, stops);
  const held = `${wideEndpoints(world).toLocaleString("en")} endpoints`;
  return [
    await measureReach(shared, held, CHANGES[size], progress),
    ...(await measureEngine(shared, held, CHANGES[size], rounds, progress)),
    ...(await measureReaders(shared, held, Math.min(rounds, 3), progress)),
  ];
}
