import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { queryTcp, queryUdp } from "../../test/e2e/servers/dns.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { ServerProcess } from "../../test/e2e/servers/process.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { ensureTool } from "../../test/e2e/servers/tools/tools.ts";
import { pidOf, withLoadedServers } from "../cpu/contenders.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { type Contender, measureInTurns } from "../report/rounds.ts";
import { ASKED, LOADED_WORLD, nameOf, queryOf } from "../worlds/asked.ts";
import { IN_FLIGHT, type Load, SOCKETS, sendLoad } from "./dnsperf.ts";

/** A server of plain DNS under load. */
interface DnsServer {
  readonly name: string;
  readonly pid: number;
  readonly dnsPort: number;
  readonly stop: () => Promise<unknown>;
}

const QUERIES = 40_000;
const WARM_UP = 100_000;
const ROUNDS = 2;
const FLOOR = "node:dgram, fixed bytes";

/** What one query of plain DNS costs the server. */
export const udpSection: Section = {
  name: "udp",
  summary: "CPU time for each query of plain DNS over UDP and TCP, beside CoreDNS and Node's bare sockets",
  measure: (effort, progress) =>
    withLoadedServers<DnsServer, Table[]>(progress, async (gateway, coredns, started) => {
      await ensureTool("dnsperf");
      const { raw } = await queryUdp(gateway.dnsPort, queryOf(ASKED[0]!));
      started.push(await startFixedUdp(raw));
      const sizes = [raw.length, (await queryUdp(coredns.dnsPort, queryOf(ASKED[0]!))).raw.length];
      const overTcp = await queryTcp(gateway.dnsPort, queryOf(ASKED[0]!));
      if (!overTcp.raw.equals(raw)) throw new Error("the gateway says something else over TCP");
      return [
        await measureTransport("udp", [gateway, coredns, ...started], sizes, effort, progress),
        await measureTransport("tcp", [gateway, coredns], sizes, effort, progress),
      ];
    }),
};

async function measureTransport(
  transport: Load["transport"],
  servers: readonly DnsServer[],
  [ours, theirs]: readonly number[],
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table> {
  const queryFile = join(temporaryFolder("udp"), "queries");
  writeFileSync(queryFile, ASKED.map((index) => `${nameOf(index)} A\n`).join(""));
  const timesOf = (queries: number) => Math.ceil((queries * share) / ASKED.length);
  const contenders: Contender[] = [];
  for (const { name, pid, dnsPort: port } of servers) {
    progress(`${transport}: warming up ${name}`);
    await sendLoad({ transport, port, queryFile, times: timesOf(WARM_UP) });
    const measure = async () => {
      const before = readThreadTimes(pid);
      const queries = await sendLoad({ transport, port, queryFile, times: timesOf(QUERIES) });
      return cpuMicrosecondsSince(before, pid) / queries;
    };
    contenders.push({ name, unit: "µs", measure });
  }
  const rows = await measureInTurns(contenders, rounds * ROUNDS, (line) => progress(`${transport}: ${line}`));
  const queries = timesOf(QUERIES) * ASKED.length;
  return {
    title: `CPU time for each query of plain DNS over ${transport.toUpperCase()}`,
    rows,
    baselines: transport === "udp" ? ["CoreDNS", FLOOR] : ["CoreDNS"],
    goals: [],
    notes: [
      `User and system time of the server process for ${queries.toLocaleString("en")} queries by dnsperf on loopback (${SOCKETS} sockets, ${IN_FLIGHT} queries in flight): type A with EDNS, ${ASKED.length} names in turn.`,
      `Answers have ${ours} bytes, CoreDNS's ${theirs}.`,
      `CoreDNS answers by its kubernetes plugin from an API server with the same ${LOADED_WORLD.services} services.`,
    ],
  };
}

/** Node's UDP socket that sends one of the gateway's answers to whatever is asked. */
async function startFixedUdp(answer: Buffer): Promise<DnsServer> {
  const dnsPort = await freePort();
  const server = await ServerProcess.start({
    name: "fixed-udp",
    command: process.execPath,
    args: [join(import.meta.dirname, "fixed-udp-program.ts"), String(dnsPort), answer.toString("base64")],
    folder: temporaryFolder("fixed-udp"),
    ready: async () => (await queryUdp(dnsPort, queryOf(ASKED[0]!))).raw.equals(answer),
  });
  return { name: FLOOR, pid: pidOf(server), dnsPort, stop: () => server.stop() };
}
