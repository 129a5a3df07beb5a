import { join } from "node:path";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { askOnce } from "../processes/ask.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { type Contender, measureInTurns } from "../report/rounds.ts";
import { ASKED, LOADED_WORLD, loadedSnapshots, prepareLoad, queryOf } from "../worlds/asked.ts";
import { compareAnswers } from "./compare-answers.ts";
import { type DohServer, startFixed, startLoadedCoreDns, startLoadedGateway } from "./contenders.ts";
import { CONNECTIONS, STREAMS, sendLoad } from "./h2load.ts";

/** Long enough that every sample pays for its share of garbage collections. */
const REQUESTS = 30_000;
const ROUNDS = 2;
/** Node's compilers need this many before a query costs what it will cost from then on. */
const WARM_UP = 100_000;

const HONO = "Hono, fixed bytes";

/** What one query over DoH costs the server. */
export const cpuSection: Section = {
  name: "cpu",
  summary: "CPU time for each DoH query, beside servers that send fixed bytes, and CoreDNS",
  async measure(effort, progress) {
    progress("starting an API server, CoreDNS and the gateway");
    const servers: DohServer[] = [];
    try {
      const snapshots = loadedSnapshots();
      const coredns = await startLoadedCoreDns(snapshots);
      servers.push(coredns);
      const gateway = await startLoadedGateway(snapshots);
      servers.unshift(gateway);
      const answer = await askOnce(gateway, queryOf(ASKED[0]!));
      servers.splice(1, 0, await startFixed(HONO, "fixed-hono", answer, gateway.gateway));
      servers.splice(
        2,
        0,
        await startFixed("node:http2, fixed bytes", "fixed-http2", answer, gateway.gateway),
      );
      await compareAnswers(gateway, coredns);
      const sizes = [answer.body.length, (await askOnce(coredns, queryOf(ASKED[0]!))).body.length];
      const tables: Table[] = [];
      for (const method of ["GET", "POST"] as const)
        tables.push(await measureMethod(method, servers, sizes, effort, progress));
      return tables;
    } finally {
      await Promise.all(servers.map(({ stop }) => stop()));
    }
  },
};

async function measureMethod(
  method: "GET" | "POST",
  servers: readonly DohServer[],
  [ours, theirs]: readonly number[],
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table> {
  const folder = temporaryFolder("cpu");
  const requests = REQUESTS * share;
  const contenders: Contender[] = [];
  for (const [index, server] of servers.entries()) {
    const ask = prepareLoad(method, server.url, join(folder, String(index)));
    progress(`${method}: warming up ${server.name}`);
    await sendLoad({ requests: WARM_UP * share, ask, protocol: "h2" });
    const measure = async () => {
      const before = readThreadTimes(server.pid);
      await sendLoad({ requests, ask, protocol: "h2" });
      return cpuMicrosecondsSince(before, server.pid) / requests;
    };
    contenders.push({ name: server.name, unit: "µs", measure });
  }
  const rows = await measureInTurns(contenders, rounds * ROUNDS, (line) => progress(`${method}: ${line}`));
  const names = method === "GET" ? `${ASKED.length} names in turn` : "one name";
  return {
    title: `CPU time for each DoH query, ${method} over HTTP/2 with TLS`,
    rows,
    baselines: [HONO, "CoreDNS"],
    goals: [
      { row: "gateway", dividedBy: HONO, atMost: 1.15 },
      ...(method === "GET" ? [{ row: "gateway", dividedBy: "CoreDNS", atMost: 0.7 }] : []),
    ],
    notes: [
      `User and system time of the server process for ${requests.toLocaleString("en")} requests by h2load (${CONNECTIONS} connections, ${STREAMS} streams each): type A, ${names}.`,
      `Answers have ${ours} bytes, CoreDNS's ${theirs}. The fixed bytes are an answer of the gateway with its header fields; with POST the fixed-bytes servers read the body, too.`,
      `CoreDNS answers by its kubernetes plugin from an API server with the same ${LOADED_WORLD.services} services.`,
    ],
  };
}
