import { join } from "node:path";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { askOnce } from "../processes/ask.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { type Contender, measureInTurns } from "../report/rounds.ts";
import { ASKED, LOADED_WORLD, prepareLoad, queryOf } from "../worlds/asked.ts";
import { type DohServer, startFixed, withLoadedServers } from "./contenders.ts";
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
  measure: (effort, progress) =>
    withLoadedServers<DohServer, Table[]>(progress, async (gateway, coredns, started) => {
      const answer = await askOnce(gateway, queryOf(ASKED[0]!));
      started.push(await startFixed(HONO, "fixed-hono", answer, gateway.gateway));
      started.push(await startFixed("node:http2, fixed bytes", "fixed-http2", answer, gateway.gateway));
      const sizes = [answer.body.length, (await askOnce(coredns, queryOf(ASKED[0]!))).body.length];
      const servers = [gateway, ...started, coredns];
      const tables: Table[] = [];
      for (const method of ["GET", "POST"] as const)
        tables.push(await measureMethod(method, servers, sizes, effort, progress));
      return tables;
    }),
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
