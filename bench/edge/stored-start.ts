import { statSync } from "node:fs";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import { preparePush } from "../push.ts";
import type { Effort, Progress, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { type WideWorld, wideClusterIds, wideSnapshot, wideSnapshots } from "../worlds/wide-world.ts";
import { describeWorld, edgeWorld } from "./edge-world.ts";
import { stoppedWithTables, takesPushes, writeRows } from "./filled-object.ts";
import {
  type Answering,
  deploy,
  HEAP_MEGABYTES,
  LARGE_LIMITS,
  objectCounts,
  startObject,
} from "./location.ts";
import type { Scripts } from "./workerd/bundles.ts";
import { WatchedIsolate } from "./workerd/watched-isolate.ts";
import { pidOf } from "./workerd/workerd.ts";

const MEBIBYTE = 1024 * 1024;
const MOST = 128_000_000 / MEBIBYTE;
const STARTS = ["first start, which compiles everything", "the object starts again"] as const;
const PUSH = "one cluster pushes, every address is another one";

/** The object starts over rows that were written for it, since clusters would push a large world for hours. */
export async function measureStoredStart(
  scripts: Scripts,
  effort: Effort,
  progress: Progress,
): Promise<Table[]> {
  const { rounds } = effort;
  const world = edgeWorld(effort);
  const samples = new Samples();
  for (let round = 1; round <= rounds; round++) {
    progress(`starts of the object: round ${round} of ${rounds}`);
    await measureRound(scripts, world, samples, progress);
  }
  return [
    {
      title: `${describeWorld(world)}, in rows when the object starts`,
      rows: samples.rows,
      baselines: [],
      goals: [...STARTS, PUSH].map((name) => ({ row: peakOf(name), atMost: MOST })),
      notes: [
        `Cloudflare gives a Durable Object 128 MB. Here V8's heap may take ${HEAP_MEGABYTES} MB, dead objects included; workerd ends when it needs more.`,
      ],
    },
  ];
}

async function measureRound(
  scripts: Scripts,
  world: WideWorld,
  samples: Samples,
  progress: Progress,
): Promise<void> {
  const deployment = deploy(scripts, wideClusterIds(world), LARGE_LIMITS);
  const state = temporaryFolder("state");
  const inspectorPort = await freePort();
  const object = await startObject(deployment, state, { inspectorPort, heapMegabytes: HEAP_MEGABYTES });
  try {
    const file = await stoppedWithTables(object, state);
    progress("writing the rows of all clusters");
    await writeRows(file, wideSnapshots(world));
    const [clusterId] = wideClusterIds(world);
    for (const name of STARTS) {
      progress(name);
      await object.server.start();
      await measure(name, object, inspectorPort, samples, () => takesPushes(object, clusterId!));
      samples.add(`${name}: the object's file`, "MiB", statSync(file).size / MEBIBYTE);
      if (name === STARTS[0]) await object.server.stop();
    }
    progress(PUSH);
    const others = JSON.stringify(wideSnapshot(world, 0)).replaceAll('"10.', '"11.');
    const before = (await objectCounts(object)).rowsWritten;
    await measure(PUSH, object, inspectorPort, samples, preparePush(object.client, JSON.parse(others)));
    samples.add(`${PUSH}: rows written`, "", (await objectCounts(object)).rowsWritten - before);
  } finally {
    await object.stop();
  }
}

async function measure(
  name: string,
  { server, url }: Answering,
  inspectorPort: number,
  samples: Samples,
  work: () => Promise<unknown>,
): Promise<void> {
  const pid = pidOf(server);
  const [begun, cpu] = [performance.now(), readThreadTimes(pid)];
  const watched = await WatchedIsolate.connect(inspectorPort, "object", pid, url);
  const peak = await watched.during(work());
  samples.add(`${name}: done after`, "ms", performance.now() - begun);
  samples.add(`${name}: CPU time of the process`, "ms", cpuMicrosecondsSince(cpu, pid) / 1000);
  const settled = await watched.settled();
  watched.close();
  samples.add(peakOf(name), "MiB", peak.isolate / MEBIBYTE);
  samples.add(`${name}: isolate, settled`, "MiB", settled.isolate / MEBIBYTE);
  samples.add(`${name}: process, settled`, "MiB", settled.resident / MEBIBYTE);
}

function peakOf(name: string): string {
  return `${name}: isolate, at most`;
}
