import { globSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { request } from "undici";
import { createDurableObjectStore } from "../../src/store/rows/durable-object-store.ts";
import { type GatewayClient, gatewayClient } from "../../test/e2e/harness/gateway-client.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { wholeOf } from "../../test/store/changes.ts";
import { sqliteDouble } from "../../test/store/rows/sqlite-double.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import { preparePush } from "../push.ts";
import type { Effort, Progress, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { type WideWorld, wideClusterIds, wideSnapshot, wideSnapshots } from "../worlds/wide-world.ts";
import { describeWorld, edgeWorld } from "./edge-world.ts";
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
const DAY = 86_400_000;

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
    // It makes its tables.
    await fetch(`${object.url}/api/v1/transfer/state`);
    await object.server.stop();
    const [file] = globSync(join(state, "**/*.sqlite")).filter(
      (path) => basename(path) !== "metadata.sqlite",
    );
    progress("writing the rows of all clusters");
    await writeRows(file!, world);
    const client = gatewayClient(object.url, () => "", deployment.tokenFileFor);
    const [clusterId] = wideClusterIds(world);
    for (const name of STARTS) {
      progress(name);
      await object.server.start();
      await measure(name, object, inspectorPort, samples, () => takesPushes(object, client, clusterId!));
      samples.add(`${name}: the object's file`, "MiB", statSync(file!).size / MEBIBYTE);
      if (name === STARTS[0]) await object.server.stop();
    }
    progress(PUSH);
    const others = JSON.stringify(wideSnapshot(world, 0)).replaceAll('"10.', '"11.');
    const before = (await objectCounts(object)).rowsWritten;
    await measure(PUSH, object, inspectorPort, samples, preparePush(client, JSON.parse(others)));
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

/** Resolves when the object has compiled its snapshots, however long that takes. */
async function takesPushes({ url }: Answering, client: GatewayClient, clusterId: string): Promise<void> {
  const headers = { authorization: `Bearer ${client.tokenFor(clusterId)}` };
  const { statusCode, body } = await request(`${url}/api/v1/clusters/${clusterId}`, {
    headers,
    headersTimeout: 0,
  });
  if (statusCode !== 200) throw new Error(`the object: ${statusCode} ${await body.text()}`);
  await body.dump();
}

function peakOf(name: string): string {
  return `${name}: isolate, at most`;
}

/** Stores what every cluster pushed, as the object does. */
async function writeRows(file: string, world: WideWorld): Promise<void> {
  const database = sqliteDouble(file);
  const store = createDurableObjectStore(database, {
    onWarning: ({ message }) => {
      throw new Error(message);
    },
  });
  const now = Date.now();
  const meta = { generation: now, pushedAt: now, renewedAt: now, expiresAt: now + DAY };
  for (const snapshot of wideSnapshots(world)) await store.keep(snapshot.clusterId, wholeOf(snapshot, meta));
  database.close();
}
