import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { gatewayClient } from "../../test/e2e/harness/gateway-client.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { Poller } from "../change/poll.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import { preparePush } from "../push.ts";
import type { Effort, Progress, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { ChangingCluster } from "../worlds/changing-cluster.ts";
import {
  ENDPOINTS_PER_EXPORT,
  EXPORTERS,
  type WideWorld,
  wideClusterIds,
  wideQuery,
  wideSnapshots,
} from "../worlds/wide-world.ts";
import { describeWorld, edgeWorld } from "./edge-world.ts";
import {
  deploy,
  HEAP_MEGABYTES,
  isolates,
  LARGE_LIMITS,
  objectCounts,
  startCache,
  startObject,
} from "./location.ts";
import { primaryRoot } from "./primary-root.ts";
import type { Scripts } from "./workerd/bundles.ts";
import { WatchedIsolate } from "./workerd/watched-isolate.ts";
import { pidOf, startWorkerd, type WorkerdProcess } from "./workerd/workerd.ts";

const MEBIBYTE = 1024 * 1024;
/** In milliseconds, for an isolate to answer what was pushed. */
const DEADLINE = 60_000;
const PEAK = "isolate of the object, at most during the pushes";
const PEAK_START = "isolate of the object, at most while it starts again";
const PEAK_RESTART = "isolate of the object, settled after it starts again";
const PEAK_AGAIN = "isolate of the object, at most during the same pushes again";

/** The clusters of a large world push to the object, through the Worker. */
export async function measureLargePush(
  scripts: Scripts,
  effort: Effort,
  progress: Progress,
): Promise<Table[]> {
  const { rounds } = effort;
  const world = edgeWorld(effort);
  const samples = new Samples();
  for (let round = 1; round <= rounds; round++) {
    progress(`pushes to the object: round ${round} of ${rounds}`);
    const running: WorkerdProcess[] = [];
    try {
      await measureRound(scripts, world, samples, running, progress);
    } finally {
      await Promise.all(running.map(({ stop }) => stop()));
    }
  }
  return [
    {
      title: `${describeWorld(world)}, which push one after the other`,
      rows: samples.rows,
      baselines: [],
      goals: [
        { row: PEAK, atMost: 128 },
        { row: PEAK_AGAIN, atMost: 128 },
        { row: PEAK_START, atMost: 128 },
        { row: PEAK_RESTART, atMost: 128 },
      ],
      notes: [
        "Each round is a fresh object, in a process of its own; pushes and queries come through an isolate of the Worker in another one. Memory as in the table above.",
        `Cloudflare gives a Durable Object 128 MB. Here V8's heap may take ${HEAP_MEGABYTES} MB, dead objects included; workerd ends when it needs more.`,
      ],
    },
  ];
}

async function measureRound(
  scripts: Scripts,
  world: WideWorld,
  samples: Samples,
  running: WorkerdProcess[],
  progress: Progress,
): Promise<void> {
  const deployment = deploy(scripts, [...wideClusterIds(world), ChangingCluster.id], LARGE_LIMITS);
  const state = temporaryFolder("state");
  const [port, inspectorPort] = [await freePort(), await freePort()];
  const object = await startObject(deployment, state, { inspectorPort, heapMegabytes: HEAP_MEGABYTES });
  running.push(object);
  const cache = await startCache(deployment);
  running.push(cache);
  running.push(await startWorkerd(isolates(deployment, [port], object, cache)));
  const url = `http://127.0.0.1:${port}`;
  const client = gatewayClient(url, () => "", deployment.tokenFileFor);
  const watched = await WatchedIsolate.connect(inspectorPort, "object", object.pid, object.url);
  const poller = new Poller(`${url}/dns-query`, "");
  const pushes = Array.from(wideSnapshots(world), (snapshot) => preparePush(client, snapshot));
  const timed = async (name: string, work: () => Promise<unknown>) => {
    const [begun, cpu] = [performance.now(), readThreadTimes(object.pid)];
    await work();
    samples.add(name, "ms", performance.now() - begun);
    return cpuMicrosecondsSince(cpu, object.pid) / 1000;
  };

  let cpu = 0;
  const pushing = async () => {
    for (const [index, push] of pushes.entries()) {
      cpu += await timed("one cluster: acknowledged after", push);
      if (index % 10 === 9)
        progress(`${index + 1} of ${pushes.length} clusters have pushed: ${Math.round(cpu)} ms of CPU time`);
    }
    await timed("all: answered by an isolate, after the last acknowledgement", () =>
      poller.waitForCount(wideQuery(0), EXPORTERS * ENDPOINTS_PER_EXPORT, DEADLINE),
    );
  };
  const peak = await watched.during(pushing());
  samples.add("CPU time of the object's process for all", "ms", cpu);
  samples.add("rows written by all", "", (await objectCounts(object)).rowsWritten);
  samples.add("the object's file", "MiB", sizeOf(state) / MEBIBYTE);
  samples.add(PEAK, "MiB", peak.isolate / MEBIBYTE);
  samples.add("process of the object, at most during the pushes", "MiB", peak.resident / MEBIBYTE);
  const pushingAgain = async () => {
    for (const push of pushes) await timed("the same again: acknowledged after", push);
  };
  samples.add(PEAK_AGAIN, "MiB", (await watched.during(pushingAgain())).isolate / MEBIBYTE);
  const settled = await watched.settled();
  samples.add("isolate of the object, settled", "MiB", settled.isolate / MEBIBYTE);
  samples.add("process of the object, settled", "MiB", settled.resident / MEBIBYTE);

  const changing = new ChangingCluster(client);
  await changing.join();
  await poller.waitForAddress(ChangingCluster.query, changing.address);
  const { rowsWritten } = await objectCounts(object);
  await timed("one endpoint changed: acknowledged after", () => changing.change());
  await timed("that change: answered by an isolate after", () =>
    poller.waitForAddress(ChangingCluster.query, changing.address),
  );
  samples.add("rows written by it", "", (await objectCounts(object)).rowsWritten - rowsWritten);
  watched.close();

  await object.server.stop();
  await object.server.start();
  const started = performance.now();
  await primaryRoot(object);
  samples.add("the object starts again: serves its root after", "ms", performance.now() - started);
  const restarted = await WatchedIsolate.connect(inspectorPort, "object", pidOf(object.server), object.url);
  const atStart = await restarted.during(client.clusterStatus(ChangingCluster.id));
  samples.add("it has compiled its snapshots, and takes pushes, after", "ms", performance.now() - started);
  samples.add(PEAK_START, "MiB", atStart.isolate / MEBIBYTE);
  samples.add(PEAK_RESTART, "MiB", (await restarted.settled()).isolate / MEBIBYTE);
  restarted.close();
  samples.add(
    "CPU time of its process by then",
    "ms",
    cpuMicrosecondsSince(new Map(), pidOf(object.server)) / 1000,
  );
  await poller.close();
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
