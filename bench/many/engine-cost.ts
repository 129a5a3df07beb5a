import type { Redis } from "../../test/e2e/servers/redis.ts";
import type { Progress, Row, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import type { Changing, SharedWorld } from "./shared-world.ts";

/** How long changes follow each other as fast as they are acknowledged, in milliseconds. */
const DURATION = 5000;

/** What the engine has done so far. */
interface EngineCounts {
  /** By name. */
  readonly commands: ReadonlyMap<string, number>;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** What changes cost the engine, one after the other and as many as it takes. */
export async function measureEngine(
  { engine, changing }: SharedWorld,
  held: string,
  changes: number,
  rounds: number,
  progress: Progress,
): Promise<Table[]> {
  const cost = new Samples();
  const names = new Set<string>();
  for (let round = 1; round <= rounds; round++) {
    progress(`cost of changes, round ${round} of ${rounds}`);
    const before = await countsOf(engine);
    for (let change = 0; change < changes; change++) await changing[change % 2]!.change().acknowledged;
    const after = await countsOf(engine);
    const commands = commandsBetween(before, after);
    for (const name of commands.keys()) names.add(name);
    cost.add("commands", "", sumOf(commands.values()) / changes);
    cost.add("bytes to the engine", "B", (after.bytesIn - before.bytesIn) / changes);
    cost.add("bytes from the engine", "B", (after.bytesOut - before.bytesOut) / changes);
  }
  const throughput = new Samples();
  for (let round = 1; round <= rounds; round++) {
    progress(`throughput, round ${round} of ${rounds}`);
    const before = await countsOf(engine);
    const made = await changeFor(changing, DURATION);
    const after = await countsOf(engine);
    throughput.add("changes", "1/s", made / (DURATION / 1000));
    throughput.add("bytes to the engine for each", "B", (after.bytesIn - before.bytesIn) / made);
    throughput.add("bytes from the engine for each", "B", (after.bytesOut - before.bytesOut) / made);
  }
  return [
    tableOf(`What one changed endpoint costs the engine, with two gateways: ${held}`, cost.rows, [
      `Mean of ${changes} changes that follow each other. Commands in all: ${[...names].sort().join(", ")}.`,
    ]),
    tableOf(`Throughput of the log: ${held}`, throughput.rows, [
      `${changing.length} clusters push to two gateways, each the next change when the one before is acknowledged, for ${DURATION / 1000} seconds. Bytes go to and from both gateways.`,
    ]),
  ];
}

function tableOf(title: string, rows: readonly Row[], notes: readonly string[]): Table {
  return { title, rows, baselines: [], goals: [], notes };
}

/** @returns how many changes were acknowledged */
async function changeFor(changing: readonly Changing[], milliseconds: number): Promise<number> {
  const end = performance.now() + milliseconds;
  let made = 0;
  const changeAgain = async (cluster: Changing) => {
    for (; performance.now() < end; made++) await cluster.change().acknowledged;
  };
  await Promise.all(changing.map(changeAgain));
  return made;
}

async function countsOf(engine: Redis): Promise<EngineCounts> {
  const text = `${await engine.run("INFO", "commandstats")}${await engine.run("INFO", "stats")}`;
  const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(text)?.[1]);
  const commands = [...text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
  return {
    commands: new Map(commands.map(([, name, calls]) => [name!, Number(calls)])),
    bytesIn: figure("total_net_input_bytes"),
    bytesOut: figure("total_net_output_bytes"),
  };
}

/** Without those that read the counts. */
function commandsBetween(before: EngineCounts, after: EngineCounts): Map<string, number> {
  const own = new Set(["info", "hello", "client|setinfo"]);
  const calls = [...after.commands].map(
    ([name, count]) => [name, count - (before.commands.get(name) ?? 0)] as const,
  );
  return new Map(calls.filter(([name, count]) => count > 0 && !own.has(name)));
}

function sumOf(numbers: Iterable<number>): number {
  return [...numbers].reduce((sum, number) => sum + number, 0);
}
