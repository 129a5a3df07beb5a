import type { Effort, Progress, Row, Table } from "../../report/report.ts";
import type { EdgeWorld } from "../edge-world.ts";
import { startCache } from "../location.ts";
import { CACHED, type ColdContender, coldContenders, FIXED, HONO, UNCACHED } from "./contenders.ts";
import type { FirstAnswer } from "./first-answer.ts";

const ROUNDS = 2;
/** Starts that perf looks at, for each that is measured without it: it samples, so one start says little. */
const PROFILED = 2;

/** From nothing to the first answer. */
export async function measureColdStart(
  { world, deployment, object }: EdgeWorld,
  { rounds, isSmall }: Effort,
  progress: Progress,
): Promise<Table[]> {
  progress(`cold start, ${world}: starting a cache`);
  const cache = await startCache(deployment);
  try {
    const contenders = await coldContenders(deployment, object, cache);
    const answers = await startInTurns(contenders, isSmall ? 1 : rounds * ROUNDS, (line) =>
      progress(`cold start, ${world}: ${line}`),
    );
    return tablesOf(world, answers);
  } finally {
    await cache.stop();
  }
}

type Answers = ReadonlyMap<string, readonly FirstAnswer[]>;

async function startInTurns(
  contenders: readonly ColdContender[],
  rounds: number,
  progress: Progress,
): Promise<Answers> {
  const answers = new Map(contenders.map(({ name }) => [name, [] as FirstAnswer[]]));
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    for (const { name, start } of contenders) {
      const all = answers.get(name)!;
      all.push(await start());
      if (name === FIXED || name === HONO) continue;
      for (let more = 0; more < PROFILED; more++) all.push(await start({ profiled: true }));
    }
  }
  return answers;
}

function tablesOf(world: string, answers: Answers): Table[] {
  const rows = (value: (answer: FirstAnswer) => number, profiled = false): Row[] =>
    [...answers].map(([name, all]) => {
      const samples = all.filter(({ inIsolates }) => (inIsolates !== undefined) === profiled);
      return { name, unit: "ms", samples: samples.map(value) };
    });
  return [
    {
      title: `Cold start with ${world}: from starting workerd to the end of the first answer`,
      rows: rows(({ process, isolate, query }) => process.wall + isolate.wall + query.wall),
      baselines: [FIXED],
      goals: [],
      notes: [
        "The object holds everything already; it and the cache are in processes of their own. A request that asks the script for nothing comes first.",
      ],
    },
    {
      title: "The start of the isolate in it, where the script is evaluated: CPU time",
      rows: rows(({ isolate }) => isolate.cpu),
      baselines: [FIXED],
      goals: [],
      notes: ["It does not count against a request's CPU time; Cloudflare bounds it by 1 s."],
    },
    {
      title: "The first query in it",
      rows: rows(({ query }) => query.wall),
      baselines: [FIXED],
      goals: [],
      notes: [],
    },
    {
      title: "The first query in it: CPU time inside isolates",
      rows: rows(({ inIsolates }) => inIsolates!, true).filter(({ samples }) => samples.length > 0),
      baselines: [],
      goals: [
        { row: CACHED, atMost: 10 },
        { row: UNCACHED, atMost: 10 },
      ],
      notes: [
        "User and system time while workerd holds an isolate's lock for a request, work in the background included, by perf's samples, which make everything a little slower. Cloudflare counts a request's CPU time by the clock of the thread before and after it calls into JavaScript.",
        "The goals are the free plan's CPU time for one request.",
      ],
    },
    {
      title: "The first query in it: CPU time of the whole process",
      rows: rows(({ query }) => query.cpu),
      baselines: [FIXED],
      goals: [],
      notes: [
        "User and system time, with what workerd and the kernel take to receive the state and what a query needs.",
      ],
    },
  ];
}
