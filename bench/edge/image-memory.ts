import { temporaryFolder } from "../../test/e2e/servers/folders.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { Poller } from "../change/poll.ts";
import type { Effort, Progress, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { encodeQuery } from "../resolve/cases.ts";
import { ChangingCluster } from "../worlds/changing-cluster.ts";
import { WORLDS } from "../worlds/worlds.ts";
import type { Scripts } from "./bundles.ts";
import {
  type Answering,
  type Deployment,
  deploy,
  isolates,
  LARGE_LIMITS,
  pushAll,
  startCache,
  startObject,
} from "./location.ts";
import { type PeakMemory, WatchedIsolate } from "./watched-isolate.ts";
import { startWorkerd, type WorkerdProcess } from "./workerd.ts";

const MEBIBYTE = 1024 * 1024;
/** Queries after which the first image is checked to its end. */
const CHECKED = 100;
const WHILE_REPLACED = "while an image replaces another, at most";

/** What one isolate holds: nothing, an image of 100,000 endpoints, two of them. */
export async function measureImageMemory(
  scripts: Scripts,
  { rounds }: Effort,
  progress: Progress,
): Promise<Table[]> {
  progress("memory: starting the object");
  const snapshots = WORLDS["all headless"]();
  const clusters = snapshots.map(({ clusterId }) => clusterId);
  const deployment = deploy(scripts, [...clusters, ChangingCluster.id], LARGE_LIMITS);
  const object = await startObject(deployment, temporaryFolder("state"));
  const samples = new Samples();
  try {
    await pushAll(object, snapshots);
    const changing = new ChangingCluster(object.client);
    await changing.join();
    for (let round = 1; round <= rounds; round++) {
      progress(`memory: round ${round} of ${rounds}`);
      await measureRound(deployment, object, changing, samples);
    }
  } finally {
    await object.stop();
  }
  return [
    {
      title: "Memory of an isolate with 100,000 endpoints, all headless (an image of 10.6 MiB)",
      rows: samples.rows,
      baselines: [],
      goals: [{ row: `isolate, ${WHILE_REPLACED}`, atMost: 128 }],
      notes: [
        "Of the isolate: V8's heap, with garbage while the image is replaced, and array buffers, as workerd's inspector says every few milliseconds. Cloudflare gives an isolate 128 MB.",
        "Of the process: what it takes of the machine's memory, with workerd itself and what V8 keeps for later.",
      ],
    },
  ];
}

async function measureRound(
  deployment: Deployment,
  object: Answering,
  changing: ChangingCluster,
  samples: Samples,
): Promise<void> {
  const running: WorkerdProcess[] = [];
  const add = (when: string, { isolate, resident }: PeakMemory) => {
    samples.add(`isolate, ${when}`, "MiB", isolate / MEBIBYTE);
    samples.add(`process, ${when}`, "MiB", resident / MEBIBYTE);
  };
  try {
    const cache = await startCache(deployment);
    running.push(cache);
    const [port, inspectorPort] = [await freePort(), await freePort()];
    const isolate = await startWorkerd({ ...isolates(deployment, [port], object, cache), inspectorPort });
    running.push(isolate);
    const url = `http://127.0.0.1:${port}`;
    const watched = await WatchedIsolate.connect(inspectorPort, "gateway-1", isolate.pid, url);
    const poller = new Poller(`${url}/dns-query`, "");
    const answered = () => poller.waitForAddress(ChangingCluster.query, changing.address);
    add("started", await watched.settled());
    add("while the first image is taken, at most", await watched.during(answered()));
    for (let query = 1; query <= CHECKED; query++) await poller.ask(serviceQuery(query));
    add("with an image", await watched.settled());
    const change = changing.change().then(answered);
    add(WHILE_REPLACED, await watched.during(change));
    add("with the new image", await watched.settled());
    watched.close();
    await poller.close();
  } finally {
    await Promise.all(running.map(({ stop }) => stop()));
  }
}

function serviceQuery(index: number): Uint8Array {
  return encodeQuery(`service-${index}.team-${Math.floor(index / 100)}.svc.clusterset.local`, "A");
}
