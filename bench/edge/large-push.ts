import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { HttpTransferSource } from "../../src/transfer/http-source.ts";
import { markText, partPath, readKey } from "../../src/transfer/part-forms.ts";
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
  keyOf,
  type WideWorld,
  wideClusterIds,
  wideEndpoints,
  wideQuery,
  wideSnapshot,
  wideSnapshots,
} from "../worlds/wide-world.ts";
import { describeWorld } from "./edge-world.ts";
import {
  deploy,
  HEAP_MEGABYTES,
  isolates,
  LARGE_LIMITS,
  objectCounts,
  startCache,
  startObject,
} from "./location.ts";
import type { Scripts } from "./workerd/bundles.ts";
import { WatchedIsolate } from "./workerd/watched-isolate.ts";
import { pidOf, startWorkerd, type WorkerdProcess } from "./workerd/workerd.ts";

const MEBIBYTE = 1024 * 1024;
/** In milliseconds, for an isolate to answer what was pushed. */
const DEADLINE = 60_000;
const PEAK = "isolate of the object, at most during the pushes";
const PEAK_START = "isolate of the object, at most after it has started again";
const PEAK_OTHERS = "isolate of the object, at most during that push";
const SETTLED = "isolate of the object, settled";
const PUSHES_CPU = "CPU time of the object's process for all";
const FIRST_KEY = "the object starts again: a key is there after";

/** The clusters of a large world push to the object, through the Worker. */
export async function measureLargePush(
  scripts: Scripts,
  world: WideWorld,
  { rounds, isSmall }: Effort,
  progress: Progress,
): Promise<Table> {
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
  const goals = [
    ...[PEAK, PEAK_OTHERS, PEAK_START].map((row) => ({ row, atMost: 128 })),
    { row: SETTLED, atMost: 36 },
    { row: FIRST_KEY, atMost: 200 },
    // For 100,000 endpoints 6 s.
    ...(isSmall ? [] : [{ row: PUSHES_CPU, atMost: 0.06 * wideEndpoints(world) }]),
  ];
  return {
    title: `${describeWorld(world)}, which push one after the other`,
    rows: samples.rows,
    baselines: [],
    goals,
    notes: [
      "Each round is a fresh object, in a process of its own; pushes and queries come through an isolate of the Worker in another one.",
      `Of an isolate: V8's heap and array buffers, as workerd's inspector says. Cloudflare gives a Durable Object 128 MB. Here V8's heap may take ${HEAP_MEGABYTES} MB, dead objects included; workerd ends when it needs more.`,
    ],
  };
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
  samples.add(PUSHES_CPU, "ms", cpu);
  samples.add("rows written by all", "", (await objectCounts(object)).rowsWritten);
  samples.add("the object's file", "MiB", sizeOf(state) / MEBIBYTE);
  samples.add(PEAK, "MiB", peak.isolate / MEBIBYTE);
  samples.add("process of the object, at most during the pushes", "MiB", peak.resident / MEBIBYTE);
  const again = await timed("the same of one cluster again: acknowledged after", pushes[0]!);
  samples.add("CPU time of that", "ms", again);
  const others = preparePush(client, otherAddresses(wideSnapshot(world, 0)));
  const pushingOthers = timed("one cluster, every address is another one: acknowledged after", others);
  samples.add(PEAK_OTHERS, "MiB", (await watched.during(pushingOthers)).isolate / MEBIBYTE);
  const settled = await watched.settled();
  samples.add(SETTLED, "MiB", settled.isolate / MEBIBYTE);
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
  await fetchKey(object, keyOf(0));
  samples.add(FIRST_KEY, "ms", performance.now() - started);
  const pid = pidOf(object.server);
  samples.add("CPU time of its process by then", "ms", cpuMicrosecondsSince(new Map(), pid) / 1000);
  const restarted = await WatchedIsolate.connect(inspectorPort, "object", pid, object.url);
  const { isolate } = await restarted.during(client.clusterStatus(ChangingCluster.id));
  samples.add(PEAK_START, "MiB", isolate / MEBIBYTE);
  restarted.close();
  await poller.close();
  await changing.close();
}

function otherAddresses(snapshot: ClusterSnapshot): ClusterSnapshot {
  return JSON.parse(JSON.stringify(snapshot).replaceAll('"10.', '"11.'));
}

/** Fetches a key as an isolate does. */
async function fetchKey({ url }: { readonly url: string }, key: string): Promise<void> {
  const source = new HttpTransferSource({ gateway: url });
  const { base, epoch, scope = "" } = await source.state(0);
  const [namespace, label] = key.split("/") as [string, string];
  const name = { kind: "key", of: { zone: "clusterset", namespace, label } } as const;
  const bytes = await source.part(partPath(name, markText(base), epoch, scope));
  if (bytes === undefined || readKey(bytes).value.key === undefined) throw new Error(`no key ${key}`);
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
