import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { run } from "../../test/e2e/servers/run.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { Poller } from "../change/poll.ts";
import type { Effort, Progress, Row, Table } from "../report/report.ts";
import { encodeQuery } from "../resolve/cases.ts";
import { loadedSnapshots, prepareLoad } from "../worlds/asked.ts";
import { ChangingCluster } from "../worlds/changing-cluster.ts";
import type { CacheCounts, ObjectCounts } from "./counts.ts";
import {
  type Answering,
  cacheCounts,
  deploy,
  isolates,
  objectCounts,
  pushAll,
  startCache,
  startObject,
} from "./location.ts";
import type { Scripts } from "./workerd/bundles.ts";
import { startWorkerd, type WorkerdProcess } from "./workerd/workerd.ts";

const ISOLATES = 8;
/** How long one load lasts, in seconds. */
const SECONDS = 10;
/** Queries per second that each isolate is asked. */
const RATES = [2, 100];
/** Names that do not exist. */
const MADE_UP = 10_000;
const CHANGES_PER_ROUND = 4;
/**
 * Between two changes whose way to every isolate is timed, in milliseconds: at least, and at random as much
 * again.
 */
const REST = 1500;
/** How long each isolate is left alone after an answer meanwhile. */
const PAUSE = 20;

/** A location: isolates that share a cache, and the object that they ask. */
interface Location {
  readonly object: Answering;
  readonly cache: Answering;
  readonly urls: readonly string[];
  readonly changing: ChangingCluster;
}

/**
 * How often the object is asked while a location's isolates answer queries, and how fast a change reaches all
 * of them.
 */
export async function measureObjectRequests(
  scripts: Scripts,
  effort: Effort,
  progress: Progress,
): Promise<Table[]> {
  progress(`requests to the object: starting the object, a cache and ${ISOLATES} isolates`);
  const running: WorkerdProcess[] = [];
  try {
    const location = await startLocation(scripts, running);
    const tables = [await stampede(location)];
    for (const perSecond of RATES)
      for (const isChanging of [false, true])
        tables.push(await measureLoad(location, perSecond, isChanging, effort, progress));
    tables.push(
      await measureMadeUp(location, effort, progress),
      await measureChanges(location, effort, progress),
    );
    return tables;
  } finally {
    await Promise.all(running.map(({ stop }) => stop()));
  }
}

async function startLocation(scripts: Scripts, running: WorkerdProcess[]): Promise<Location> {
  const snapshots = loadedSnapshots();
  const clusters = snapshots.map(({ clusterId }) => clusterId);
  const deployment = deploy(scripts, [...clusters, ChangingCluster.id]);
  const object = await startObject(deployment, temporaryFolder("state"));
  running.push(object);
  const cache = await startCache(deployment);
  running.push(cache);
  await pushAll(object, snapshots);
  const changing = new ChangingCluster(object.client);
  await changing.join();
  const ports = await Promise.all(Array.from({ length: ISOLATES }, freePort));
  running.push(await startWorkerd(isolates(deployment, ports, object, cache)));
  return { object, cache, changing, urls: ports.map((port) => `http://127.0.0.1:${port}/dns-query`) };
}

/** Every isolate is asked for the first time, all at once. */
async function stampede(location: Location): Promise<Table> {
  const before = await counted(location);
  await Promise.all(
    location.urls.map(async (url) => {
      const poller = new Poller(url, "");
      await poller.waitForAddress(ChangingCluster.query, location.changing.address);
      await poller.close();
    }),
  );
  const { object } = difference(before, await counted(location));
  return {
    title: `Requests to the object while ${ISOLATES} cold isolates of one location are asked at once`,
    rows: [
      { name: "for the state", unit: "", samples: [object.state] },
      { name: "for parts", unit: "", samples: [object.parts] },
    ],
    baselines: [],
    goals: [],
    notes: ["The isolates share a cache, which is empty."],
  };
}

async function measureLoad(
  location: Location,
  perSecond: number,
  isChanging: boolean,
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table> {
  const seconds = Math.ceil(SECONDS * share);
  const perQuery: Record<"object" | "state" | "parts" | "cache", number[]> = {
    object: [],
    state: [],
    parts: [],
    cache: [],
  };
  const everySecond: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    progress(
      `requests to the object, ${perSecond * ISOLATES} queries/s${isChanging ? " with changes" : ""}: round ${round} of ${rounds}`,
    );
    const before = await counted(location);
    const [queries] = await Promise.all([
      sendSteadyLoad(location.urls, perSecond, seconds),
      isChanging ? changeEverySecond(location.changing, seconds) : undefined,
    ]);
    const { object, cache } = difference(before, await counted(location));
    const per1000 = (count: number) => (count / queries) * 1000;
    perQuery.object.push(per1000(object.state + object.parts));
    perQuery.state.push(per1000(object.state));
    perQuery.parts.push(per1000(object.parts));
    perQuery.cache.push(per1000(cache.hits + cache.misses + cache.puts + cache.deletes));
    everySecond.push((object.state + object.parts) / seconds);
  }
  const row = (name: string, samples: readonly number[]): Row => ({ name, unit: "", samples });
  return {
    title: `Per 1,000 queries at ${ISOLATES} isolates of one location, ${perSecond * ISOLATES} queries/s, ${isChanging ? "a change pushed every second" : "nothing changes"}`,
    rows: [
      row("requests to the object", perQuery.object),
      row("  for the state", perQuery.state),
      row("  for parts", perQuery.parts),
      row("operations of the cache", perQuery.cache),
      row("for comparison: requests to the object per second", everySecond),
    ],
    baselines: [],
    goals: [],
    notes: [`${seconds} s each round, ${perSecond} queries per second at each isolate.`],
  };
}

/** Names that do not exist, each of which is asked once. */
async function measureMadeUp(
  location: Location,
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table> {
  const names = Math.ceil(MADE_UP * share);
  const samples: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    progress(`requests to the object, made-up names: round ${round} of ${rounds}`);
    const before = await counted(location);
    await Promise.all(
      location.urls.map(async (url, isolate) => {
        const poller = new Poller(url, "");
        for (let number = isolate; number < names; number += ISOLATES)
          await poller.ask(encodeQuery(`made-up-${round}-${number}.team-0.svc.clusterset.local`, "A"));
        await poller.close();
      }),
    );
    const { object } = difference(before, await counted(location));
    samples.push(((object.state + object.parts) / names) * 1000);
  }
  const row = "requests to the object";
  return {
    title: `Per 1,000 queries for names that do not exist, at ${ISOLATES} isolates of one location`,
    rows: [{ name: row, unit: "", samples }],
    baselines: [],
    goals: [{ row, atMost: 10 }],
    notes: [`${names.toLocaleString("en")} names each round, none of them twice.`],
  };
}

/** How long a change takes from its push until every isolate answers it, while all of them are asked. */
async function measureChanges(
  { urls, changing }: Location,
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table> {
  const changes = Math.ceil(CHANGES_PER_ROUND * rounds * share);
  const pollers = urls.map((url) => new Poller(url, "", PAUSE));
  const [first, all]: [number[], number[]] = [[], []];
  for (let change = 1; change <= changes; change++) {
    progress(`from a change to every isolate: change ${change} of ${changes}`);
    await askFor(REST * (1 + Math.random()), pollers);
    const started = performance.now();
    await changing.change();
    const { address } = changing;
    const times = await Promise.all(
      pollers.map(async (poller) => (await poller.waitForAddress(ChangingCluster.query, address)) - started),
    );
    first.push(Math.min(...times));
    all.push(Math.max(...times));
  }
  await Promise.all(pollers.map((poller) => poller.close()));
  return {
    title: `From a push to its answer at ${ISOLATES} isolates of one location`,
    rows: [
      { name: "the first isolate answers it", unit: "ms", samples: first },
      { name: "every isolate answers it", unit: "ms", samples: all },
    ],
    baselines: [],
    goals: [{ row: "every isolate answers it", atMost: 5000 }],
    notes: [
      `${changes} changes; the clock starts before the push. Every isolate is asked some 50 times a second.`,
    ],
  };
}

/** Keeps all isolates busy, so that the age of what they hold is that of isolates in use. */
async function askFor(milliseconds: number, pollers: readonly Poller[]): Promise<void> {
  const end = performance.now() + milliseconds;
  await Promise.all(
    pollers.map(async (poller) => {
      while (performance.now() < end) {
        await poller.ask(ChangingCluster.query);
        await sleep(PAUSE);
      }
    }),
  );
}

/** Asks every isolate at that rate. @returns how many queries were answered */
async function sendSteadyLoad(urls: readonly string[], perSecond: number, seconds: number): Promise<number> {
  const folder = temporaryFolder("steady");
  const answered = await Promise.all(
    urls.map(async (url, index) => {
      const ask = prepareLoad("GET", url, join(folder, String(index)));
      if (!("urlFile" in ask)) throw new Error("a steady load asks by GET");
      const rate = ["--rps", String(perSecond), "-n", String(perSecond * seconds)];
      const accept = "accept: application/dns-message";
      const output = await run("h2load", ["--h1", "-c", "1", ...rate, "-H", accept, "-i", ask.urlFile]);
      const count = Number(/^status codes: (\d+) 2xx/m.exec(output)?.[1]);
      if (count !== perSecond * seconds) throw new Error(`not every query was answered:\n${output}`);
      return count;
    }),
  );
  return answered.reduce((sum, count) => sum + count, 0);
}

async function changeEverySecond(changing: ChangingCluster, seconds: number): Promise<void> {
  const begun = performance.now();
  for (let second = 0; second < seconds; second++) {
    await changing.change();
    await sleep(Math.max(0, begun + (second + 1) * 1000 - performance.now()));
  }
}

interface Counted {
  readonly object: ObjectCounts;
  readonly cache: CacheCounts;
}

async function counted({ object, cache }: Location): Promise<Counted> {
  return { object: await objectCounts(object), cache: await cacheCounts(cache) };
}

function difference(before: Counted, after: Counted): Counted {
  return { object: subtract(after.object, before.object), cache: subtract(after.cache, before.cache) };
}

function subtract<Counts extends object>(after: Counts, before: Counts): Counts {
  const entries = Object.entries(after).map(([name, count]) => [
    name,
    count - (before as Record<string, number>)[name]!,
  ]);
  return Object.fromEntries(entries) as Counts;
}
