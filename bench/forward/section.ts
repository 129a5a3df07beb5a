import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "dns-packet";
import { metric } from "../../test/e2e/harness/answers.ts";
import { startGateway } from "../../test/e2e/harness/processes.ts";
import { type CoreDns, startCoreDns } from "../../test/e2e/servers/coredns.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import type { DohServer } from "../cpu/doh-server.ts";
import { CONNECTIONS, STREAMS, sendLoad } from "../cpu/h2load.ts";
import { askOnce } from "../processes/ask.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { type Contender, measureInTurns } from "../report/rounds.ts";
import { encodeQuery } from "../resolve/cases.ts";

const KNOWN_NAMES = 400;
const REQUESTS = { hit: 30_000, miss: 6000 } as const;
/** Node's compilers need this many before a query costs what it will cost from then on. */
const WARM_UP = { hit: 60_000, miss: 12_000 } as const;
const COREDNS = "CoreDNS";

interface Forwarding extends DohServer {
  /** How many queries have been misses, where the server says so. */
  readonly misses?: () => Promise<number>;
}

type Kind = keyof typeof REQUESTS;

/** What one query costs that is forwarded. */
export const forwardSection: Section = {
  name: "forward",
  summary: "CPU time for each DoH query of a name outside the zones, in the cache and not, beside CoreDNS",
  async measure(effort, progress) {
    progress("starting an upstream, CoreDNS and the gateway");
    const started: { stop: () => Promise<unknown> }[] = [];
    try {
      const upstream = await startUpstream();
      started.push(upstream);
      const servers = [await startForwardingGateway(upstream), await startForwardingCoreDns(upstream)];
      started.push(...servers);
      await checkAnswers(servers);
      const tables: Table[] = [];
      for (const kind of ["hit", "miss"] as const)
        tables.push(await measureKind(kind, servers, effort, progress));
      return tables;
    } finally {
      await Promise.all(started.map((server) => server.stop()));
    }
  },
};

/** Answers type A of every name. */
function startUpstream(): Promise<CoreDns> {
  return startCoreDns(['template IN A . {\n  answer "{{ .Name }} 3600 IN A 192.0.2.1"\n}'], {
    name: "upstream",
  });
}

async function startForwardingGateway({ port }: CoreDns): Promise<Forwarding> {
  const gateway = await startGateway({
    config: { threads: 1, outsideZones: "forward", forward: { upstreams: [`127.0.0.1:${port}`] } },
  });
  const { url, ca, stop } = gateway;
  const misses = () => metric(gateway, "clusterset_doh_outside_queries_total", { result: "miss" });
  return { name: "gateway", url: `${url}/dns-query`, ca, pid: gateway.process.pid!, stop, misses };
}

async function startForwardingCoreDns({ port }: CoreDns): Promise<DohServer> {
  const coredns = await startCoreDns(["cache 3600", `forward . 127.0.0.1:${port}`], {
    name: "forwarder",
    doh: true,
  });
  const { url, ca } = coredns.doh!;
  return { name: COREDNS, url, ca, pid: coredns.process.pid!, stop: () => coredns.stop() };
}

async function measureKind(
  kind: Kind,
  servers: readonly Forwarding[],
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table> {
  const folder = temporaryFolder("forward");
  const requests = REQUESTS[kind] * share;
  const contenders: Contender[] = [];
  for (const [index, server] of servers.entries()) {
    let sample = 0;
    const load = async (count: number) => {
      const urlFile = join(folder, `${index}-${sample}`);
      const names = kind === "hit" ? knownNames() : freshNames(count, `${index}-${sample++}`);
      writeFileSync(urlFile, names.map((name) => `${server.url}?dns=${parameter(name)}\n`).join(""));
      // With one connection each URL is asked for once.
      await sendLoad({
        requests: count,
        ask: { urlFile },
        protocol: "h2",
        shape:
          kind === "hit"
            ? { connections: CONNECTIONS, streams: STREAMS }
            : { connections: 1, streams: CONNECTIONS * STREAMS },
      });
    };
    progress(`${kind}: warming up ${server.name}`);
    await load(WARM_UP[kind] * share);
    const measure = async () => {
      const missed = await server.misses?.();
      const before = readThreadTimes(server.pid);
      await load(requests);
      const cost = cpuMicrosecondsSince(before, server.pid) / requests;
      const misses = ((await server.misses?.()) ?? 0) - (missed ?? 0);
      if (missed !== undefined && misses !== (kind === "miss" ? requests : 0))
        throw new Error(`${misses} of ${requests} were misses`);
      return cost;
    };
    contenders.push({ name: server.name, unit: "µs", measure });
  }
  const rows = await measureInTurns(contenders, rounds, (line) => progress(`${kind}: ${line}`));
  const asked =
    kind === "hit" ? `${KNOWN_NAMES} names in turn, all in the cache` : "names that nobody has asked for";
  return {
    title: `CPU time for each forwarded query, cache ${kind}, GET over HTTP/2 with TLS`,
    rows,
    baselines: [COREDNS],
    goals: [],
    notes: [
      `User and system time of the server process for ${requests.toLocaleString("en")} requests by h2load (${CONNECTIONS * STREAMS} at a time): type A, ${asked}.`,
      "The upstream is another CoreDNS (plugin template) over plain DNS on loopback. CoreDNS forwards with its plugins forward and cache.",
    ],
  };
}

function knownNames(): string[] {
  return Array.from(
    { length: KNOWN_NAMES },
    (_, index) => `known-${String(index).padStart(4, "0")}.bench.example`,
  );
}

function freshNames(count: number, sample: string): string[] {
  return Array.from({ length: count }, (_, index) => `n${index}-${sample}-${Date.now()}.bench.example`);
}

function parameter(name: string): string {
  return Buffer.from(encodeQuery(name, "A")).toString("base64url");
}

/** Both have to say the same, or the comparison means nothing. */
async function checkAnswers(servers: readonly DohServer[]): Promise<void> {
  for (const server of servers) {
    const { body } = await askOnce(server, encodeQuery("www.bench.example", "A"));
    const [record] = decode(body).answers ?? [];
    if (record?.type !== "A" || record.data !== "192.0.2.1")
      throw new Error(`${server.name} does not forward: ${JSON.stringify(record)}`);
  }
}
