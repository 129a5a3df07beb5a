import { join } from "node:path";
import { temporaryFolder } from "../../test/e2e/servers/folders.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { askOnce } from "../ask.ts";
import { ASKED, LOADED_WORLD, loadedSnapshots, prepareLoad, queryOf } from "../asked.ts";
import { CONNECTIONS, sendLoad } from "../cpu/h2load.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../cpu/process-cpu.ts";
import type { Effort, Progress, Row, Table } from "../report.ts";
import { measureInTurns } from "../rounds.ts";
import { buildFixedScripts, type Scripts } from "./bundles.ts";
import { deploy, pushAll, startWhole } from "./location.ts";
import { startWorkerd, type WorkerdProcess } from "./workerd.ts";

/** Long enough that every sample pays for its share of garbage collections. */
const REQUESTS = 20_000;
const ROUNDS = 3;
const WARM_UP = 40_000;

const GATEWAY = "gateway";
const FIXED = "fixed bytes";
const FIXED_AFTER_BODY = "fixed bytes, body read";
const FIXED_HONO = "Hono, fixed bytes";

interface Contestant {
  readonly name: string;
  readonly url: string;
  readonly process: WorkerdProcess;
}

/** Answers per second of the Worker in bare workerd, beside Workers that send fixed bytes. */
export async function measureThroughput(
  scripts: Scripts,
  effort: Effort,
  progress: Progress,
): Promise<Table[]> {
  progress("throughput: starting the Worker and those that send fixed bytes");
  const snapshots = loadedSnapshots();
  const clusters = snapshots.map(({ clusterId }) => clusterId);
  const gateway = await startWhole(deploy(scripts, clusters));
  const contestants: Contestant[] = [{ name: GATEWAY, url: `${gateway.url}/dns-query`, process: gateway }];
  try {
    await pushAll(gateway, snapshots);
    const answer = await askOnce({ url: `${gateway.url}/dns-query`, ca: "" }, queryOf(ASKED[0]!));
    const fixed = await buildFixedScripts(answer);
    contestants.push(
      await startFixed(FIXED, fixed.fixed),
      await startFixed(FIXED_AFTER_BODY, fixed.fixedAfterBody),
      await startFixed(FIXED_HONO, fixed.fixedHono),
    );
    return [
      ...(await measureMethod("GET", contestants, FIXED, answer.body.length, effort, progress)),
      ...(await measureMethod("POST", contestants, FIXED_AFTER_BODY, answer.body.length, effort, progress)),
    ];
  } finally {
    await Promise.all(contestants.map(({ process }) => process.stop()));
  }
}

async function startFixed(name: string, script: string): Promise<Contestant> {
  const port = await freePort();
  const process = await startWorkerd({
    name: "fixed",
    services: [{ name: "fixed", modules: [["fixed.js", script]] }],
    sockets: [{ port, service: "fixed" }],
  });
  return { name, url: `http://127.0.0.1:${port}/dns-query`, process };
}

async function measureMethod(
  method: "GET" | "POST",
  all: readonly Contestant[],
  baseline: string,
  octets: number,
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table[]> {
  const folder = temporaryFolder("throughput");
  const requests = REQUESTS * share;
  const contestants = all.filter(({ name }) => method === "POST" || name !== FIXED_AFTER_BODY);
  const cpu: Row[] = [];
  const contenders = [];
  for (const [index, { name, url, process }] of contestants.entries()) {
    const ask = prepareLoad(method, url, join(folder, String(index)));
    progress(`throughput, ${method}: warming up ${name}`);
    await sendLoad({ requests: WARM_UP * share, ask, protocol: "http/1.1" });
    const samples: number[] = [];
    cpu.push({ name, unit: "µs", samples });
    const measure = async () => {
      const before = readThreadTimes(process.pid);
      const perSecond = await sendLoad({ requests, ask, protocol: "http/1.1" });
      samples.push(cpuMicrosecondsSince(before, process.pid) / requests);
      return perSecond;
    };
    contenders.push({ name, unit: "1/s", measure });
  }
  const throughput = await measureInTurns(contenders, rounds * ROUNDS, (line) =>
    progress(`throughput, ${method}: ${line}`),
  );
  const asked = method === "GET" ? `${ASKED.length} names in turn` : "one name";
  const load = `${requests.toLocaleString("en")} requests by h2load over HTTP/1.1 on ${CONNECTIONS} connections, type A, ${asked}; ${LOADED_WORLD.services} services; answers of ${octets} octets.`;
  const beside =
    method === "GET"
      ? "The fixed bytes are an answer of the gateway with its header fields."
      : "Without the body there is no query, so the baseline reads it, as does the Hono app.";
  return [
    {
      title: `Answers per second in bare workerd, ${method}`,
      rows: throughput,
      baselines: [baseline],
      goals: [{ row: GATEWAY, dividedBy: baseline, atLeast: 0.9 }],
      notes: [load, beside],
    },
    {
      title: `CPU time for each query in bare workerd, ${method}`,
      // The first one is of the round that warms up.
      rows: cpu.map((row) => ({ ...row, samples: row.samples.slice(1) })),
      baselines: [baseline],
      goals: [{ row: GATEWAY, dividedBy: baseline, atMost: 1 / 0.9 }],
      notes: [
        "User and system time of the whole process, under the same load. The gateway's process has its object and a cache in it.",
      ],
    },
  ];
}
