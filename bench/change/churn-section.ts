import { setTimeout as sleep } from "node:timers/promises";
import { pidOf } from "../cpu/contenders.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import { QueryLoad } from "../processes/query-load.ts";
import { residentMemory } from "../processes/resident-memory.ts";
import { type Stop, withStops } from "../processes/stops.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { percentile, spreadOf } from "../report/statistics.ts";
import { startWideGateway } from "../size/held-world.ts";
import { ChangingCluster } from "../worlds/changing-cluster.ts";
import { wideEndpoints, wideQueries, wideWorld } from "../worlds/wide-world.ts";
import { Churn } from "./churn.ts";
import { Poller } from "./poll.ts";

const SIZES = {
  small: { endpoints: 40_000, changes: 100, queries: 100 },
  full: { endpoints: 1_000_000, changes: 1000, queries: 500 },
};
/** Names that are asked in turn. */
const NAMES = 500;
/** The time is cut into so many parts, and each gives one sample. */
const PARTS = { small: 4, full: 10 };

const ACKNOWLEDGED = "change to acknowledgement, p99";
/** In milliseconds: a cluster may push 50 times a second (`limits.pushesPerSecond`). */
const BETWEEN_PUSHES = 25;
const ANSWERED = "push to changed answer of one cluster beside, the longest";
const MEMORY = "resident memory";
const GROWTH = "resident memory, second half ÷ first";
const FAILED = "failed queries";

/** Changes that never end, at a size where everything counts. */
export const churnSection: Section = {
  name: "churn",
  summary: "1,000 endpoint changes and 500 queries a second at 1,000,000 endpoints, for --minutes",
  measure: (effort, progress) => withStops((stops) => measureChurn(effort, progress, stops)),
};

async function measureChurn(
  { isSmall, minutes }: Effort,
  progress: Progress,
  stops: Stop[],
): Promise<Table[]> {
  const { endpoints, changes, queries } = SIZES[isSmall ? "small" : "full"];
  const parts = PARTS[isSmall ? "small" : "full"];
  const world = wideWorld(endpoints);
  progress(`${world.clusters} clusters push ${wideEndpoints(world).toLocaleString("en")} endpoints`);
  const gateway = await startWideGateway(world, { clusters: [ChangingCluster.id] });
  stops.push(() => gateway.kill());
  const churn = await Churn.start(gateway, world, changes);
  stops.push(() => churn.stop());
  const url = `${gateway.url}/dns-query`;
  const load = await QueryLoad.start({
    url,
    ca: gateway.ca,
    perSecond: queries,
    queries: wideQueries(world, NAMES),
  });
  stops.push(() => load.stop());
  const probe = new ChangingCluster(gateway);
  const poller = new Poller(url, gateway.ca);
  stops.push(
    () => probe.close(),
    () => poller.close(),
  );
  await probe.join();

  const pid = pidOf(gateway.process);
  const samples = new Samples();
  let failed = 0;
  await churn.report();
  for (let part = 1; part <= parts; part++) {
    const [before, begun] = [readThreadTimes(pid), performance.now()];
    const seen: number[] = [];
    const answers = await load.during(async () => {
      const end = begun + (minutes * 60_000) / parts;
      while (performance.now() < end) seen.push(await timeOfChange(probe, poller));
    });
    const seconds = (performance.now() - begun) / 1000;
    const { milliseconds, pushes } = await churn.report();
    failed += answers.failed;
    addWaits(samples, milliseconds);
    samples.add(ANSWERED, "ms", percentile(seen, 1));
    samples.add("query, p99", "ms", percentile(answers.milliseconds, 0.99));
    samples.add("changes acknowledged", "1/s", milliseconds.length / seconds);
    samples.add("pushes acknowledged", "1/s", pushes / seconds);
    samples.add("queries answered", "1/s", answers.milliseconds.length / seconds);
    samples.add(
      "CPU time of the gateway per second",
      "ms",
      cpuMicrosecondsSince(before, pid) / seconds / 1000,
    );
    samples.add(MEMORY, "MiB", residentMemory(pid).now / (1024 * 1024));
    progress(`part ${part} of ${parts}: ${pushes} pushes, ${milliseconds.length} changes`);
  }
  await churn.end();
  addWaits(samples, (await churn.report()).milliseconds);
  return [tableOf(samples, failed, changes, queries)];
}

/** @param milliseconds none where no push was acknowledged: its changes count when they are */
function addWaits(samples: Samples, milliseconds: readonly number[]): void {
  if (milliseconds.length === 0) return;
  samples.add(ACKNOWLEDGED, "ms", percentile(milliseconds, 0.99));
  samples.add("change to acknowledgement, median", "ms", percentile(milliseconds, 0.5));
}

/**
 * Milliseconds from one push to its answer. Takes longer than that where the next push would come too soon.
 */
async function timeOfChange(probe: ChangingCluster, poller: Poller): Promise<number> {
  const rest = sleep(BETWEEN_PUSHES);
  const begun = performance.now();
  const acknowledged = probe.change();
  // Both are awaited together: after the error of one, that of the other, which is stopped then, would end
  // the process and hide the first.
  const answer = poller.waitForAddress(ChangingCluster.query, probe.address);
  const [answered] = await Promise.all([answer, acknowledged, rest]);
  return answered - begun;
}

function tableOf(samples: Samples, failed: number, changes: number, queries: number): Table {
  const { rows } = samples;
  const memory = rows.find(({ name }) => name === MEMORY)!.samples;
  const half = memory.length / 2;
  const growth = spreadOf(memory.slice(half)).median / spreadOf(memory.slice(0, half)).median;
  return {
    title: `${changes} endpoint changes and ${queries} queries a second`,
    rows: [
      ...rows,
      { name: GROWTH, unit: "", samples: [growth] },
      { name: FAILED, unit: "", samples: [failed] },
    ],
    baselines: [],
    goals: [
      { row: ACKNOWLEDGED, atMost: 1000 },
      { row: ANSWERED, atMost: 1000 },
      { row: GROWTH, atMost: 1.1 },
      { row: FAILED, atMost: 0 },
    ],
    notes: [
      `The time is cut into ${memory.length} parts; each gives one sample. A push is acknowledged when answers have it.`,
      "Changes of a cluster gather while a push of it is in flight, so what they wait for counts; each cluster pushes at most 40 times a second.",
    ],
  };
}
