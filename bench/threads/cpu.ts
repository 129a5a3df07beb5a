import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { pidOf } from "../cpu/contenders.ts";
import { type Load, sendLoad } from "../cpu/h2load.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import type { Effort, Progress, Table } from "../report/report.ts";
import { type Contender, measureInTurns } from "../report/rounds.ts";
import { ASKED, prepareLoad } from "../worlds/asked.ts";
import type { Threaded } from "./threaded.ts";

/** So many connections that each of four threads has some. */
const SHAPE = { connections: 16, streams: 50 };
const REQUESTS = 120_000;
/** With fewer, what handshakes and collections cost more or less than usual is a large part of a query. */
const LEAST_REQUESTS = 30_000;
/** For each thread, whose code is compiled apart from that of the others, also with `--small`. */
const WARM_UP = 50_000;
/** After a load, in milliseconds: servers close connections when the client is gone. */
const CLOSING = 100;

/** CPU time for each query, with the first gateway as the baseline. */
export async function measureCpu(
  started: readonly Threaded[],
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table> {
  const folder = temporaryFolder("threads");
  const requests = Math.max(REQUESTS * share, LEAST_REQUESTS);
  const contenders: Contender[] = [];
  for (const { name, threads, gateway } of started) {
    const ask = prepareLoad("GET", `${gateway.url}/dns-query`, join(folder, String(threads)));
    const load: Omit<Load, "requests"> = { ask, shape: SHAPE, protocol: "h2" };
    progress(`CPU: warming up ${name}`);
    await sendLoad({ requests: threads * WARM_UP, ...load });
    const pid = pidOf(gateway.process);
    const cost = async (count: number) => {
      const before = readThreadTimes(pid);
      await sendLoad({ requests: count, ...load });
      await sleep(CLOSING);
      return cpuMicrosecondsSince(before, pid);
    };
    // What connections cost, with one request each, is no part of a query.
    const measure = async () => {
      const handshakes = await cost(SHAPE.connections);
      return ((await cost(requests + SHAPE.connections)) - handshakes) / requests;
    };
    contenders.push({ name, unit: "µs", measure });
  }
  const rows = await measureInTurns(contenders, rounds, (line) => progress(`CPU: ${line}`));
  const [one, ...several] = started.map(({ name }) => name);
  return {
    title: "CPU time for each DoH query by the number of threads",
    rows,
    baselines: [one!],
    goals: several.map((row) => ({ row, dividedBy: one!, atMost: 1.1 })),
    notes: [
      `User and system time of all threads for ${requests.toLocaleString("en")} GETs by h2load over HTTP/2 with TLS (${SHAPE.connections} connections, ${SHAPE.streams} requests in flight on each), without the handshakes: type A, ${ASKED.length} names in turn.`,
      "h2load and all threads share the cores of this machine.",
    ],
  };
}
