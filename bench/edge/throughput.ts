import { join } from "node:path";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { CONNECTIONS, sendLoad } from "../cpu/h2load.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import type { Effort, Progress, Row, Table } from "../report/report.ts";
import { ASKED, LOADED_WORLD, prepareLoad } from "../worlds/asked.ts";
import {
  type Contestant,
  FIXED,
  FIXED_AFTER_BODY,
  GATEWAY,
  startContestants,
} from "./throughput-contestants.ts";
import type { Scripts } from "./workerd/bundles.ts";

/**
 * Requests in one go: a shared machine changes its speed within seconds, so the contestants take turns faster
 * than that.
 */
const SLICE = 4_000;
/**
 * Slices of one sample: together they pay for some of workerd's large garbage collections, of which one comes
 * in about 20,000 requests.
 */
const SLICES = 12;
/** Until everything is compiled that will be. */
const WARM_UP = 24_000;

type Method = "GET" | "POST";

/** What was measured by one method: samples of the contestants by their names. */
interface Measured {
  readonly perSecond: Map<string, number[]>;
  /** Microseconds of CPU time for each query. */
  readonly cpu: Map<string, number[]>;
}

/** Answers per second of the Worker in bare workerd, beside Workers that send fixed bytes. */
export async function measureThroughput(
  scripts: Scripts,
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table[]> {
  const measured = { GET: emptyMeasured(), POST: emptyMeasured() };
  let bytes = 0;
  // Each round has processes of its own: where one lies in memory makes it a few per cent faster or slower
  // for as long as it lives.
  for (let round = 1; round <= rounds; round++) {
    progress(`throughput: round ${round} of ${rounds}, starting the Worker and those that send fixed bytes`);
    const contestants: Contestant[] = [];
    try {
      const answer = await startContestants(scripts, contestants);
      bytes = answer.body.length;
      for (const method of ["GET", "POST"] as const) {
        progress(`throughput: round ${round} of ${rounds}, ${method}`);
        const taking = contestants.filter(({ name }) => method === "POST" || name !== FIXED_AFTER_BODY);
        await measureMethod(method, taking, share, measured[method]);
      }
    } finally {
      await Promise.all(contestants.map(({ process }) => process.stop()));
    }
  }
  return [
    ...tablesOf("GET", FIXED, measured.GET, bytes),
    ...tablesOf("POST", FIXED_AFTER_BODY, measured.POST, bytes),
  ];
}

function emptyMeasured(): Measured {
  return { perSecond: new Map(), cpu: new Map() };
}

async function measureMethod(
  method: Method,
  contestants: readonly Contestant[],
  share: number,
  { perSecond, cpu }: Measured,
): Promise<void> {
  const folder = temporaryFolder("throughput");
  const loads = contestants.map(({ name, url, process }, index) => ({
    name,
    process,
    ask: prepareLoad(method, url, join(folder, String(index))),
    seconds: 0,
    cpu: 0,
  }));
  const send = (requests: number, { ask }: (typeof loads)[number]) =>
    sendLoad({ requests, ask, protocol: "http/1.1" });
  for (const load of loads) await send(WARM_UP * share, load);
  const slices = Math.max(1, Math.round(SLICES * share));
  for (let slice = 0; slice < slices; slice++)
    // To and fro, since what a process still does after its turn costs the next one.
    for (const load of slice % 2 === 0 ? loads : loads.toReversed()) {
      const before = readThreadTimes(load.process.pid);
      load.seconds += SLICE / (await send(SLICE, load));
      load.cpu += cpuMicrosecondsSince(before, load.process.pid);
    }
  const requests = SLICE * slices;
  for (const load of loads) {
    add(perSecond, load.name, requests / load.seconds);
    add(cpu, load.name, load.cpu / requests);
  }
}

function add(samples: Map<string, number[]>, name: string, sample: number): void {
  samples.set(name, [...(samples.get(name) ?? []), sample]);
}

function tablesOf(method: Method, baseline: string, { perSecond, cpu }: Measured, bytes: number): Table[] {
  const rowsOf = (samples: Map<string, number[]>, unit: string): Row[] =>
    [...samples].map(([name, own]) => ({ name, unit, samples: own }));
  const asked = method === "GET" ? `${ASKED.length} names in turn` : "one name";
  const load = `By h2load over HTTP/1.1 on ${CONNECTIONS} connections, in turns of ${SLICE.toLocaleString("en")} requests, with new processes for each sample; type A, ${asked}; ${LOADED_WORLD.services} services; answers of ${bytes} bytes.`;
  const beside =
    method === "GET"
      ? "The fixed bytes are an answer of the gateway with the header fields that it sets."
      : "Without the body there is no query, so the baseline reads it, as does the Hono app.";
  return [
    {
      title: `Answers per second in bare workerd, ${method}`,
      rows: rowsOf(perSecond, "1/s"),
      baselines: [baseline],
      goals: [{ row: GATEWAY, dividedBy: baseline, atLeast: 0.9 }],
      notes: [load, beside],
    },
    {
      title: `CPU time for each query in bare workerd, ${method}`,
      rows: rowsOf(cpu, "µs"),
      baselines: [baseline],
      goals: [{ row: GATEWAY, dividedBy: baseline, atMost: 1 / 0.9 }],
      notes: [
        "User and system time of the whole process, under the same load. The gateway's process has its object and a cache in it.",
      ],
    },
  ];
}
