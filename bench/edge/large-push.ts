import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { gatewayClient } from "../../test/e2e/gateway-client.ts";
import { temporaryFolder } from "../../test/e2e/servers/folders.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { waitFor } from "../../test/e2e/servers/wait.ts";
import { Poller } from "../change/poll.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import { preparePush } from "../push.ts";
import type { Effort, Progress, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { encodeQuery } from "../resolve/cases.ts";
import { ChangingCluster } from "../worlds/changing-cluster.ts";
import { WORLDS } from "../worlds/worlds.ts";
import type { Scripts } from "./bundles.ts";
import { deploy, isolates, objectCounts, startCache, startObject } from "./location.ts";
import { primaryImage } from "./primary-image.ts";
import { WatchedIsolate } from "./watched-isolate.ts";
import { pidOf, startWorkerd, type WorkerdProcess } from "./workerd.ts";

const MEBIBYTE = 1024 * 1024;
/** A headless service of both clusters: answered with the endpoints of both. */
const QUERY = encodeQuery("service-0.team-0.svc.clusterset.local", "A");
const ENDPOINTS = 10;
const PEAK = "isolate of the object, at most during the pushes";
const PEAK_AGAIN = "isolate of the object, at most during the same pushes again";
/** Cloudflare gives an object 128 MB; what is left is for array buffers. */
const HEAP_MEGABYTES = 100;

/** Two clusters push 10,000 services with 100,000 endpoints to the object, through the Worker. */
export async function measureLargePush(
  scripts: Scripts,
  { rounds }: Effort,
  progress: Progress,
): Promise<Table[]> {
  const snapshots = WORLDS["half headless"]();
  const samples = new Samples();
  for (let round = 1; round <= rounds; round++) {
    progress(`push of 10,000 services: round ${round} of ${rounds}`);
    const running: WorkerdProcess[] = [];
    try {
      await measureRound(scripts, snapshots, samples, running);
    } finally {
      await Promise.all(running.map(({ stop }) => stop()));
    }
  }
  return [
    {
      title: "10,000 services with 100,000 endpoints, pushed by two clusters one after the other",
      rows: samples.rows,
      baselines: [],
      goals: [
        { row: PEAK, atMost: 128 },
        { row: PEAK_AGAIN, atMost: 128 },
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
  snapshots: readonly ClusterSnapshot[],
  samples: Samples,
  running: WorkerdProcess[],
): Promise<void> {
  const clusters = snapshots.map(({ clusterId }) => clusterId);
  const deployment = deploy(scripts, [...clusters, ChangingCluster.id]);
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
  const pushes = snapshots.map((snapshot) => preparePush(client, snapshot));
  const timed = async (name: string, work: () => Promise<unknown>) => {
    const [begun, cpu] = [performance.now(), readThreadTimes(object.pid)];
    await work();
    samples.add(name, "ms", performance.now() - begun);
    return cpuMicrosecondsSince(cpu, object.pid) / 1000;
  };

  let cpu = 0;
  const pushing = async () => {
    for (const [index, push] of pushes.entries())
      cpu += await timed(`${index === 0 ? "first" : "second"} cluster: acknowledged after`, push);
    await timed("both: answered by an isolate, after the last acknowledgement", () => untilAnswered(poller));
  };
  const peak = await watched.during(pushing());
  samples.add("CPU time of the object's process for both", "ms", cpu);
  samples.add("rows written by both", "", (await objectCounts(object)).rowsWritten);
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
  await primaryImage(object);
  samples.add("the object starts again: serves its image after", "ms", performance.now() - started);
  samples.add(
    "CPU time of its process by then",
    "ms",
    cpuMicrosecondsSince(new Map(), pidOf(object.server)) / 1000,
  );
  await poller.close();
}

async function untilAnswered(poller: Poller): Promise<void> {
  await waitFor("the endpoints of both clusters", async () => {
    while ((await poller.ask(QUERY)).length !== ENDPOINTS) await sleep(2);
    return true;
  });
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
