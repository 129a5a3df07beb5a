import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { connect } from "node:tls";
import { decode, encode } from "dns-packet";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeAuthority, makeServer, type PemPair } from "../../hosts/client-certificates.ts";
import { StreamClient } from "../../hosts/listeners/dns-clients.ts";
import { type DnsServer, startDnsServer } from "../../hosts/listeners/dns-server.ts";
import { eventually, metric } from "../harness/answers.ts";
import { MANY, openMany } from "../harness/connections.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { answerOf, type DnsAnswer, queryBytes, queryTcp, queryUdp } from "../servers/dns.ts";
import { freePort } from "../servers/ports.ts";

const ADDRESS = "192.0.2.1";
const THREADS = 2;

let authority: PemPair;
let first: PemPair;
let upstream: DnsServer;
let gateway: GatewayProcess;
let dnsPort: number;
let dotPort: number;

const makeNext = () => makeServer(authority, ["localhost"], ["127.0.0.1"]);

beforeAll(async () => {
  authority = await makeAuthority("Servers");
  first = await makeNext();
  upstream = await startDnsServer({
    udp: (query) => {
      const { id, questions = [] } = decode(query);
      const answers = [{ type: "A" as const, name: questions[0]!.name, ttl: 3600, data: ADDRESS }];
      return encode({ type: "response", id: id!, flags: 0x0180, questions, answers });
    },
  });
  [dnsPort, dotPort] = [await freePort(), await freePort()];
  gateway = await startGateway({
    certificate: { ...first, ca: authority.cert },
    config: {
      threads: THREADS,
      access: { public: true },
      dns: { listen: [`127.0.0.1:${dnsPort}`] },
      dot: { listen: [`127.0.0.1:${dotPort}`] },
      // Connections are open, and silent, until files are read again.
      limits: { requestSeconds: 600 },
      outsideZones: "forward",
      forward: {
        upstreams: [`127.0.0.1:${upstream.port}`],
        serverMilliseconds: 60_000,
        totalMilliseconds: 60_000,
      },
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});

async function queryDot(port: number, query: { name: string; type: "A" }): Promise<DnsAnswer> {
  const client = await StreamClient.tls(port, { ca: authority.cert, ALPNProtocols: ["dot"] });
  client.send(queryBytes(query));
  const answer = answerOf((await client.next())!);
  client.close();
  return answer;
}

describe("a gateway with two threads", () => {
  it.each([
    ["udp", queryUdp, () => dnsPort],
    ["tcp", queryTcp, () => dnsPort],
    ["dot", queryDot, () => dotPort],
  ] as const)(
    "answers over %s on both threads, each of which has the forwarded answer in its own cache",
    async (transport, query, port) => {
      const before = await metric(gateway, "clusterset_doh_cached_answers");
      for (let time = 0; time < MANY; time++) {
        const { message } = await query(port(), { name: `${transport}.example`, type: "A" });
        expect(message.answers).toMatchObject([{ data: ADDRESS }]);
      }
      await eventually(() => metric(gateway, "clusterset_doh_cached_answers")).toBe(before + THREADS);
    },
  );

  it("uses a renewed certificate on both threads, for HTTPS and DNS over TLS, and keeps open connections", async () => {
    const open = await openMany(gateway);
    const httpsPort = Number(new URL(gateway.url).port);
    const served = async () => [await fingerprints(httpsPort, "h2"), await fingerprints(dotPort, "dot")];
    const only = ({ cert }: PemPair) => [new X509Certificate(cert).fingerprint256];
    expect(await served()).toEqual([only(first), only(first)]);

    const next = await makeNext();
    replaceFile("server.crt", next.cert);
    replaceFile("server.key", next.key);
    await eventually(served).toEqual([only(next), only(next)]);
    for (const connection of open) {
      expect((await connection.get("/healthz")).status).toBe(200);
      connection.close();
    }
  });
});

/** The certificates of many new connections, each once. */
async function fingerprints(port: number, protocol: string): Promise<string[]> {
  const found = new Set<string>();
  for (let time = 0; time < MANY; time++) {
    const socket = connect({
      port,
      host: "127.0.0.1",
      servername: "localhost",
      ca: authority.cert,
      ALPNProtocols: [protocol],
    });
    await once(socket, "secureConnect");
    found.add(socket.getPeerX509Certificate()!.fingerprint256);
    socket.destroy();
  }
  return [...found];
}

/** Replaces a file of the gateway's certificate at once. */
function replaceFile(name: string, text: string): void {
  const path = join(dirname(gateway.caFile), name);
  writeFileSync(`${path}.draft`, text, { mode: 0o600 });
  renameSync(`${path}.draft`, path);
}
