import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { askOnce } from "../processes/ask.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import type { Effort, Goal, Progress, Section, Table } from "../report/report.ts";
import { type Contender, measureInTurns } from "../report/rounds.ts";
import { ASKED, LOADED_WORLD, loadedSnapshots, prepareLoad, queryOf } from "../worlds/asked.ts";
import { startFixed, startGatewayWithToken, withLoadedServers } from "./contenders.ts";
import { startDnsdist } from "./dnsdist.ts";
import type { DohServer } from "./doh-server.ts";
import { type Load, sendLoad } from "./h2load.ts";
import { nameOfShape, SHAPES, type Shape } from "./shapes.ts";

/** Long enough that every sample pays for its share of garbage collections. */
const REQUESTS = 30_000;
/** With fewer, what 64 handshakes cost more or less than usual is a large part of a query. */
const LEAST_REQUESTS = 10_000;
/** After a load, in milliseconds: servers close connections when the client is gone. */
const CLOSING = 100;
/**
 * Node's compilers need this many before a query costs what it will cost from then on, also with `--small`.
 */
const WARM_UP = 50_000;

const HONO = "Hono, fixed bytes";
const HTTP2 = "node:http2, fixed bytes";

const METHODS = ["GET", "POST"] as const;
type Method = (typeof METHODS)[number];

/** The most that a query may cost, as a share of dnsdist's cost. Default: the same. */
const SHARES_OF_DNSDIST: Readonly<Record<string, number>> = {
  "8x50 POST": 1.1,
  "8x1 GET": 0.9,
  "8x1 POST": 0.9,
};

/** What one query over DoH costs the server. */
export const cpuSection: Section = {
  name: "cpu",
  summary: "CPU time for each DoH query, beside dnsdist, CoreDNS, and servers that send fixed bytes",
  measure: (effort, progress) =>
    withLoadedServers<DohServer, Table[]>(progress, async (gateway, coredns, started) => {
      const answer = await askOnce(gateway, queryOf(ASKED[0]!));
      started.push(await startGatewayWithToken(loadedSnapshots()));
      started.push(await startFixed(HONO, "fixed-hono", answer, gateway));
      started.push(await startFixed(HTTP2, "fixed-http2", answer, gateway));
      const dnsdist = await startDnsdist(gateway);
      started.push(dnsdist);
      const servers = [gateway, ...started, coredns];
      const sizes: string[] = [];
      for (const server of [gateway, dnsdist, coredns])
        sizes.push(`${server.name} ${(await askOnce(server, queryOf(ASKED[0]!))).body.length}`);
      const tables: Table[] = [];
      for (const method of METHODS) {
        const asked = await warmUp(method, servers, progress);
        for (const shape of effort.shapes ?? SHAPES) {
          const table = await measureShape(method, shape, asked, effort, progress);
          const { rows, notes } = table;
          const goals = goalsOf(method, shape, gateway.name, started[0]!.name, dnsdist.name);
          const bytes = `Bytes of an answer: ${sizes.join(", ")}. The fixed bytes are an answer of the gateway with its header fields.`;
          tables.push({
            title: table.title,
            rows,
            goals,
            baselines: [dnsdist.name, HTTP2],
            notes: [...notes, bytes],
          });
        }
      }
      return tables;
    }),
};

/** A server with what is asked of it. */
interface Asked {
  readonly server: DohServer;
  readonly load: Pick<Load, "ask" | "headers" | "protocol">;
}

async function warmUp(
  method: Method,
  servers: readonly DohServer[],
  progress: Progress,
): Promise<readonly Asked[]> {
  const folder = temporaryFolder("cpu");
  const asked: Asked[] = [];
  for (const [index, server] of servers.entries()) {
    const { url, headers = {} } = server;
    const load = {
      ask: prepareLoad(method, url, join(folder, String(index))),
      headers,
      protocol: "h2",
    } as const;
    progress(`${method}: warming up ${server.name}`);
    await sendLoad({ requests: WARM_UP, ...load });
    asked.push({ server, load });
  }
  return asked;
}

async function measureShape(
  method: Method,
  shape: Shape,
  asked: readonly Asked[],
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Omit<Table, "goals" | "baselines">> {
  const requests = Math.max(REQUESTS * share, LEAST_REQUESTS);
  const { connections, streams } = shape;
  const contenders = asked.map(({ server, load }): Contender => {
    const cost = async (count: number) => {
      const before = readThreadTimes(server.pid);
      await sendLoad({ requests: count, shape, ...load });
      await sleep(CLOSING);
      return cpuMicrosecondsSince(before, server.pid);
    };
    // What connections cost, with one request each, is no part of a query.
    const measure = async () => {
      const handshakes = await cost(connections);
      return ((await cost(requests + connections)) - handshakes) / requests;
    };
    return { name: server.name, unit: "µs", measure };
  });
  const name = nameOfShape(shape);
  const rows = await measureInTurns(contenders, rounds, (line) => progress(`${name} ${method}: ${line}`));
  return {
    title: `CPU time for each DoH query, ${name} ${method} over HTTP/2 with TLS`,
    rows,
    notes: [
      `User and system time of the server process for ${requests.toLocaleString("en")} requests by h2load (${connections} connections, ${streams} requests in flight on each), without the handshakes: type A, ${method === "GET" ? `${ASKED.length} names in turn` : "one name"}.`,
      `CoreDNS answers by its kubernetes plugin from an API server with the same ${LOADED_WORLD.services} services, dnsdist by a rule with one address.`,
    ],
  };
}

function goalsOf(
  method: Method,
  shape: Shape,
  gateway: string,
  withToken: string,
  dnsdist: string,
): readonly Goal[] {
  const name = nameOfShape(shape);
  return [
    { row: gateway, dividedBy: dnsdist, atMost: SHARES_OF_DNSDIST[`${name} ${method}`] ?? 1 },
    ...(name === "8x50" ? [{ row: gateway, dividedBy: HTTP2, atMost: 0.4 }] : []),
    { row: withToken, dividedBy: gateway, atMost: 1.3 },
  ];
}
