import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { type GatewayProcess, startGateway } from "../../test/e2e/harness/processes.ts";
import { type WatchedLoop, watchLoop } from "../processes/event-loop.ts";
import { QueryLoad } from "../processes/query-load.ts";
import { type Stop, withStops } from "../processes/stops.ts";
import { LONG_LEASES, preparePush, pushSnapshot } from "../push.ts";
import type { Effort, Goal, Progress, Row, Section, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import { percentile } from "../report/statistics.ts";
import { encodeQuery } from "../resolve/cases.ts";
import { ASKED, loadedSnapshots, queryOf } from "../worlds/asked.ts";
import { PushingCluster } from "../worlds/pushing-cluster.ts";
import {
  addressOf,
  emptyCluster,
  headlessExport,
  LARGE_NAMESPACE,
  LARGE_SERVICE,
  largeExports,
  memberPatch,
  namedEndpoint,
} from "../worlds/wide-world.ts";

/** Each phase of a round lasts at least so long, in milliseconds. */
const PHASE = { small: 2000, full: 15_000 };
const QUERIES_PER_SECOND = { small: 200, full: 500 };
/** Endpoints of the cluster that pushes all it has again and again, and leaves. */
const ENDPOINTS = { small: 20_000, full: 100_000 };
/** Endpoints in one PATCH: as many as one cluster may have (`limits.endpoints`). */
const PATCHED = { small: 30_000, full: 360_000 };
/** What is measured otherwise without waiting for the budget of one cluster. */
const LIMITS = { pushValuesPerSecond: 10_000_000 };

type Size = keyof typeof PHASE;

const LARGE = "large";
const PATCHING = "patching";
const CHANGING = "changing";
/** Endpoints of one service that changes all the time: somewhat less than `limits.endpointsPerService`. */
const ONE_SERVICE = { small: 2000, full: 19_000 };
const IDLE = "idle";
/**
 * Two processes that have nothing to do with the gateway, as many as push and write: what the processors'
 * share alone does to queries.
 */
const BUSY = "two processes compute, nothing is pushed";

/** What a large push does to the queries of everyone else. */
export const stallsSection: Section = {
  name: "stalls",
  summary: "queries and the gateway's event loop during full pushes, the largest PATCHes and departures",
  measure: (effort, progress) => withStops((stops) => measureStalls(effort, progress, stops)),
};

async function measureStalls(effort: Effort, progress: Progress, stops: Stop[]): Promise<Table[]> {
  const size = effort.isSmall ? "small" : "full";
  progress("starting the gateway");
  const loop = await watchLoop();
  const held = loadedSnapshots();
  const clusters = [...held.map(({ clusterId }) => clusterId), LARGE, PATCHING, CHANGING];
  const gateway = await startGateway({ clusters, config: { ...LONG_LEASES, limits: LIMITS }, env: loop.env });
  stops.push(() => gateway.stop());
  for (const snapshot of held) await pushSnapshot(gateway, snapshot);
  const load = await QueryLoad.start({
    url: `${gateway.url}/dns-query`,
    ca: gateway.ca,
    perSecond: QUERIES_PER_SECOND[size],
    queries: ASKED.map(queryOf),
  });
  stops.push(() => load.stop());
  const phases = await preparePhases(gateway, size, stops);
  const measured = new Measured(load, loop);
  for (let round = 0; round <= effort.rounds; round++)
    for (const [name, phase] of phases) {
      progress(`${round === 0 ? "warming up" : `round ${round} of ${effort.rounds}`}: ${name}`);
      const work = await phase();
      await measured.add(name, work, round > 0);
    }
  return tablesOf(measured, [...phases.keys()], size);
}

/** Prepares what is not measured, and returns the rest. */
type Phase = () => Promise<() => Promise<unknown>>;

async function preparePhases(
  gateway: GatewayProcess,
  size: Size,
  stops: Stop[],
): Promise<Map<string, Phase>> {
  const pushes = [0, 1].map((variant) => preparePush(gateway, largeCluster(ENDPOINTS[size], variant)));
  const large = new PushingCluster(gateway, LARGE);
  const patching = new PushingCluster(gateway, PATCHING);
  stops.push(
    () => large.close(),
    () => patching.close(),
  );
  // A departure may be over before enough queries were sent.
  const aSecondOf = (work: () => Promise<unknown>) => () => Promise.all([work(), sleep(1000)]);
  return new Map<string, Phase>([
    [IDLE, async () => () => sleep(PHASE[size])],
    [BUSY, async () => () => withBusyProcesses(2, () => sleep(PHASE[size]))],
    [
      "full pushes",
      async () => async () => {
        const end = performance.now() + PHASE[size];
        for (let push = 0; push < 2 || performance.now() < end; push++) await pushes[push % 2]!();
      },
    ],
    ["the cluster leaves", async () => aSecondOf(() => large.leave())],
    [
      "a PATCH with everything",
      async () => {
        await patching.replace(emptyCluster(PATCHING, [LARGE_NAMESPACE]));
        const patch = { exports: Object.fromEntries(largeExports(PATCHED[size])) };
        return () => patching.patch(patch);
      },
    ],
    [
      "a PATCH of everything",
      async () => {
        const patch = { exports: unreadyPatch(PATCHED[size]) };
        return () => patching.patch(patch);
      },
    ],
    ["what was patched leaves", async () => aSecondOf(() => patching.leave())],
    ["a large service changes, and is queried", await prepareChanging(gateway, size, stops)],
  ]);
}

/** One endpoint of a service with many changes again and again, while names of the service are queried. */
async function prepareChanging(gateway: GatewayProcess, size: Size, stops: Stop[]): Promise<Phase> {
  const changing = new PushingCluster(gateway, CHANGING);
  stops.push(() => changing.close());
  const endpoints = Array.from({ length: ONE_SERVICE[size] }, (_, index) =>
    namedEndpoint(addressOf(12_000_000 + index), `pod-${index}`),
  );
  const key = `${CHANGING}/one`;
  const exports = { [key]: headlessExport(Object.fromEntries(endpoints)) };
  await changing.replace({ ...emptyCluster(CHANGING, [CHANGING]), exports });
  const [member, endpoint] = endpoints[0]!;
  return async () => {
    const load = await QueryLoad.start({
      url: `${gateway.url}/dns-query`,
      ca: gateway.ca,
      perSecond: 50,
      queries: [encodeQuery(`pod-1.${CHANGING}.one.${CHANGING}.svc.clusterset.local`, "A")],
    });
    return async () => {
      const end = performance.now() + PHASE[size];
      try {
        for (let ready = false; performance.now() < end; ready = !ready)
          await changing.patch({ exports: { [key]: memberPatch({ [member]: { ...endpoint, ready } }) } });
      } finally {
        load.stop();
      }
    };
  };
}

async function withBusyProcesses(count: number, work: () => Promise<unknown>): Promise<void> {
  const busy = Array.from({ length: count }, () => spawn(process.execPath, ["-e", "for (;;);"]));
  try {
    await work();
  } finally {
    for (const one of busy) one.kill("SIGKILL");
  }
}

function largeCluster(endpoints: number, variant: number): ClusterSnapshot {
  const exports = Object.fromEntries(largeExports(endpoints, variant));
  return { ...emptyCluster(LARGE, [LARGE_NAMESPACE]), exports };
}

/** Changes one field of every endpoint. */
function unreadyPatch(endpoints: number): Record<string, object> {
  const changes: Record<string, object> = {};
  for (const [key, { endpoints: groups }] of largeExports(endpoints)) {
    const members = Object.values(groups).flatMap((group) => Object.entries(group.members));
    changes[key] = memberPatch(
      Object.fromEntries(members.map(([member, endpoint]) => [member, { ...endpoint, ready: false }])),
    );
  }
  return changes;
}

/** What queries and the event loop took in each phase. */
class Measured {
  readonly p99 = new Samples();
  readonly longest = new Samples();
  readonly turns = new Samples();
  readonly cpuTurns = new Samples();
  readonly durations = new Samples();
  readonly failed = new Map<string, number>();
  readonly #load: QueryLoad;
  readonly #loop: WatchedLoop;

  constructor(load: QueryLoad, loop: WatchedLoop) {
    this.#load = load;
    this.#loop = loop;
  }

  async add(phase: string, work: () => Promise<unknown>, isCounted: boolean): Promise<void> {
    await this.#loop.longestTurn();
    let took = 0;
    const { milliseconds, failed } = await this.#load.during(async () => {
      const begun = performance.now();
      await work();
      took = performance.now() - begun;
    });
    const turn = await this.#loop.longestTurn();
    if (!isCounted) return;
    this.p99.add(phase, "ms", percentile(milliseconds, 0.99));
    this.longest.add(phase, "ms", percentile(milliseconds, 1));
    this.turns.add(phase, "ms", turn.wall);
    this.cpuTurns.add(phase, "ms", turn.cpu);
    this.durations.add(phase, "ms", took);
    this.failed.set(phase, (this.failed.get(phase) ?? 0) + failed);
  }
}

function tablesOf(
  { p99, longest, turns, cpuTurns, durations, failed }: Measured,
  phases: string[],
  size: Size,
) {
  const pushed = phases.filter((name) => name !== IDLE && name !== BUSY);
  const table = (title: string, rows: readonly Row[], goals: readonly Goal[] = [], notes: string[] = []) => ({
    title,
    rows,
    goals,
    notes,
    baselines: [IDLE],
  });
  const count = (number: number) => number.toLocaleString("en");
  const toGoal = (row: string): Goal => ({ row, dividedBy: IDLE, atMost: 3 });
  const failures = phases.map((name) => ({ name, unit: "", samples: [failed.get(name) ?? 0] }));
  return [
    table("p99 of queries while one cluster works the gateway", p99.rows, pushed.map(toGoal), [
      `${QUERIES_PER_SECOND[size]} queries per second over HTTP/2 for names of two other clusters, from a process that does not wait for answers.`,
      `A full push has ${count(ENDPOINTS[size])} endpoints, each PATCH ${count(PATCHED[size])}, ${LARGE_SERVICE} in each headless service. Full pushes repeat, each with other addresses than the one before.`,
    ]),
    table("The longest query meanwhile", longest.rows),
    table("The longest turn of the gateway's event loop, CPU time", cpuTurns.rows),
    table(
      "The longest turn by the clock",
      turns.rows,
      [],
      [
        "With the time for which the machine ran something else. It is the loop of the main thread, which answers no query where several threads do (`threads`).",
      ],
    ),
    table(
      "How long each phase took",
      durations.rows,
      [],
      ["Full pushes repeat for a given time; a departure is given a second at least."],
    ),
    { ...table("Failed queries, all rounds", failures), baselines: [] },
  ];
}
