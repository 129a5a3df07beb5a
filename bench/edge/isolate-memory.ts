import { freePort } from "../../test/e2e/servers/ports.ts";
import { Poller } from "../change/poll.ts";
import type { Effort, Progress, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { ChangingCluster } from "../worlds/changing-cluster.ts";
import type { EdgeWorld } from "./edge-world.ts";
import {
  type Answering,
  cacheCounts,
  type Deployment,
  isolates,
  objectCounts,
  startCache,
} from "./location.ts";
import { type PeakMemory, WatchedIsolate } from "./workerd/watched-isolate.ts";
import { startWorkerd, type WorkerdProcess } from "./workerd/workerd.ts";

const MEBIBYTE = 1024 * 1024;
const WHILE_FOLLOWED = "while it follows a change, at most";

/**
 * What one isolate holds: nothing, one name, many; and what it fetches for one change.
 * @param queries for names all over the world
 */
export async function measureIsolateMemory(
  { world, deployment, object }: EdgeWorld,
  queries: readonly Uint8Array[],
  { rounds }: Effort,
  progress: Progress,
): Promise<Table[]> {
  const samples = new Samples();
  const changing = new ChangingCluster(object.client);
  try {
    await changing.join();
    for (let round = 1; round <= rounds; round++) {
      progress(`memory: round ${round} of ${rounds}`);
      await measureRound(deployment, object, changing, queries, samples);
    }
  } finally {
    await changing.close();
  }
  return [
    {
      title: `An isolate with ${world}, all headless`,
      rows: samples.rows,
      baselines: [],
      goals: [{ row: `isolate, ${WHILE_FOLLOWED}`, atMost: 64 }],
      notes: [
        "Of the isolate: V8's heap, with garbage while it works, and array buffers, as workerd's inspector says every few milliseconds. Cloudflare gives an isolate 128 MB.",
        "Of the process: what it takes of the machine's memory, with workerd itself and what V8 keeps for later.",
      ],
    },
  ];
}

async function measureRound(
  deployment: Deployment,
  object: Answering,
  changing: ChangingCluster,
  queries: readonly Uint8Array[],
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
    add("until the first answer, at most", await watched.during(answered()));
    for (const query of queries) await poller.ask(query);
    add(`with ${queries.length} names`, await watched.settled());
    const fetched = async () =>
      [(await objectCounts(object)).bytes, (await cacheCounts(cache)).bytes] as const;
    const before = await fetched();
    const change = changing.change().then(answered);
    add(WHILE_FOLLOWED, await watched.during(change));
    const after = await fetched();
    samples.add("for one change: bytes from the object", "B", after[0] - before[0]);
    samples.add("for one change: bytes from the cache", "B", after[1] - before[1]);
    add("after the change", await watched.settled());
    watched.close();
    await poller.close();
  } finally {
    await Promise.all(running.map(({ stop }) => stop()));
  }
}
