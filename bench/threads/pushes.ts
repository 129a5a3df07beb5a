import { setTimeout as sleep } from "node:timers/promises";
import type { GatewayProcess } from "../../test/e2e/harness/processes.ts";
import { QueryLoad } from "../processes/query-load.ts";
import type { Stop } from "../processes/stops.ts";
import { preparePush } from "../push.ts";
import type { Effort, Progress, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { percentile } from "../report/statistics.ts";
import { ASKED, queryOf } from "../worlds/asked.ts";
import { emptyCluster, LARGE_NAMESPACE, largeExports } from "../worlds/wide-world.ts";
import type { Threaded } from "./threaded.ts";

/** The cluster that pushes all it has again and again. */
export const LARGE = "large";
const ENDPOINTS = { small: 20_000, full: 100_000 };
/** Each phase of a round lasts at least so long, in milliseconds. */
const PHASE = { small: 2000, full: 6000 };
const QUERIES_PER_SECOND = { small: 200, full: 500 };
const IDLE = "idle";
const PUSHES = "full pushes";

/**
 * The longest gap between answers and the longest wait for one during full pushes, divided by those of the
 * idle gateway.
 */
export async function measurePushes(
  started: readonly Threaded[],
  effort: Effort,
  progress: Progress,
  stops: Stop[],
): Promise<Table[]> {
  const tables: Table[] = [];
  for (const threaded of started)
    tables.push(...(await measureOne(threaded, effort, (line) => progress(`pushes: ${line}`), stops)));
  return tables;
}

async function measureOne(
  { name, threads, gateway }: Threaded,
  { rounds, isSmall }: Effort,
  progress: Progress,
  stops: Stop[],
): Promise<Table[]> {
  const size = isSmall ? "small" : "full";
  const load = await QueryLoad.start({
    url: `${gateway.url}/dns-query`,
    ca: gateway.ca,
    perSecond: QUERIES_PER_SECOND[size],
    queries: ASKED.map(queryOf),
  });
  stops.push(() => load.stop());
  const phases = await preparePhases(gateway, size);
  const gaps = new Samples();
  const waits = new Samples();
  let failures = 0;
  for (let round = 0; round <= rounds; round++)
    for (const [phase, work] of phases) {
      progress(`${name}, ${round === 0 ? "warming up" : `round ${round} of ${rounds}`}: ${phase}`);
      const { milliseconds, longestGap, failed } = await load.during(work);
      failures += failed;
      if (round === 0) continue;
      gaps.add(phase, "ms", longestGap);
      waits.add(phase, "ms", percentile(milliseconds, 1));
    }
  load.stop();
  const notes = [
    `${QUERIES_PER_SECOND[size]} queries per second over 4 HTTP/2 connections, from a process that does not wait for answers; ${failures} failed.`,
    `Full pushes of ${ENDPOINTS[size].toLocaleString("en")} endpoints follow each other, each with other addresses than the one before.`,
  ];
  const goals = threads === 1 ? [] : [{ row: PUSHES, dividedBy: IDLE, atMost: 2 }];
  const baselines = [IDLE];
  return [
    { title: `The longest gap between answers, ${name}`, rows: gaps.rows, baselines, goals, notes },
    { title: `The longest wait for an answer, ${name}`, rows: waits.rows, baselines, goals: [], notes: [] },
  ];
}

/** What is done while queries are counted. */
async function preparePhases(
  gateway: GatewayProcess,
  size: keyof typeof PHASE,
): Promise<Map<string, () => Promise<unknown>>> {
  const pushes = [0, 1].map((variant) => {
    const exports = Object.fromEntries(largeExports(ENDPOINTS[size], variant));
    return preparePush(gateway, { ...emptyCluster(LARGE, [LARGE_NAMESPACE]), exports });
  });
  await pushes[1]!();
  const pushAll = async () => {
    const end = performance.now() + PHASE[size];
    for (let push = 0; push < 2 || performance.now() < end; push++) await pushes[push % 2]!();
  };
  return new Map([
    [IDLE, () => sleep(PHASE[size])],
    [PUSHES, pushAll],
  ]);
}
