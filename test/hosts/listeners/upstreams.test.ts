import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { UsageError } from "../../../src/config/values.ts";
import { readUpstreamAnswer } from "../../../src/forward/upstream.ts";
import { WatchedFiles } from "../../../src/hosts/node/files.ts";
import type { Listener } from "../../../src/hosts/node/listen.ts";
import { startNodeServer } from "../../../src/hosts/node/server/node-server.ts";
import { keepSelfSigned } from "../../../src/hosts/node/tls.ts";
import { openConnector } from "../../../src/hosts/node/upstreams/configured-upstreams.ts";
import { createPlainUpstream, exchangeUdp } from "../../../src/hosts/node/upstreams/plain-upstream.ts";
import { DEADLINE } from "../../deadline.ts";
import { folderOfTests } from "../../folders.ts";
import { answerTo, decoded, queryFor } from "../../forward/fake-upstreams.ts";
import { makeAuthority } from "../client-certificates.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "../default-limits.ts";
import { type Say, startDnsServer } from "./dns-server.ts";

const query = queryFor("web.shop.fed.svc.federation", { id: 0 });
const name = "web.shop.fed.svc.federation";
const withAddress =
  (data: string): Say =>
  (asked) =>
    answerTo(asked, { answers: [{ type: "A", name, ttl: 30, data }] });
const patient = () => AbortSignal.timeout(DEADLINE);

async function plain(says: { udp?: Say; tcp?: Say }) {
  const server = await startDnsServer(says);
  onTestFinished(() => server.close());
  const endpoint = { address: "127.0.0.1", port: server.port };
  return { server, upstream: createPlainUpstream("plain", endpoint) };
}

const addressesIn = (bytes: Uint8Array) =>
  decoded(bytes).answers?.map((record) => "data" in record && record.data);

describe("plain DNS", () => {
  it("uses UDP with random IDs and source ports (RFC 5452 section 9.2)", async () => {
    const { server, upstream } = await plain({ udp: withAddress("192.0.2.1") });
    for (let count = 0; count < 12; count++) {
      const answer = await upstream.exchange(query, patient());
      expect(addressesIn(answer)).toEqual(["192.0.2.1"]);
      expect(decoded(answer).id).toBe(0);
    }
    expect(new Set(server.udp.map((one) => one.readUInt16BE(0))).size).toBeGreaterThan(8);
    expect(new Set(server.sourcePorts).size).toBeGreaterThan(8);
    expect(server.udp.every((one) => one.subarray(2).equals(query.subarray(2)))).toBe(true);
  });

  it("fails only the exchange whose answer throws", async () => {
    const { server } = await plain({ udp: withAddress("192.0.2.1") });
    const endpoint = { address: "127.0.0.1", port: server.port };
    const broken = () => {
      throw new Error("planted");
    };
    await expect(exchangeUdp(endpoint, query, broken, patient())).rejects.toThrow("planted");
    expect(decoded(await exchangeUdp(endpoint, query, () => true, patient())).answers).toHaveLength(1);
  });

  it("fails only the exchange whose socket cannot be connected", async () => {
    // Without SO_BROADCAST the system refuses it, as it does an address without a route.
    const nowhere = { address: "255.255.255.255", port: 53 };
    await expect(exchangeUdp(nowhere, query, () => true, patient())).rejects.toThrow("EACCES");
  });

  it("uses TCP after a truncated answer (RFC 7766 section 5)", async () => {
    const { server, upstream } = await plain({
      udp: (asked) => answerTo(asked, { flags: 0x8780 }),
      tcp: withAddress("192.0.2.2"),
    });
    expect(addressesIn(await upstream.exchange(query, patient()))).toEqual(["192.0.2.2"]);
    expect([server.udp.length, server.tcp.length]).toEqual([1, 1]);
  });

  it("ignores datagrams that do not answer the query", async () => {
    const { upstream } = await plain({
      udp: (asked) => {
        const [forged, other] = [
          answerTo(asked),
          answerTo(queryFor("x.example", { id: asked.readUInt16BE(0) })),
        ];
        forged[0] = forged[0]! ^ 0xff;
        return [forged, other, Buffer.from("nonsense"), withAddress("192.0.2.3")(asked) as Uint8Array];
      },
    });
    expect(addressesIn(await upstream.exchange(query, patient()))).toEqual(["192.0.2.3"]);
  });

  it("sends a lost datagram again", async () => {
    let datagrams = 0;
    const { upstream } = await plain({
      udp: (asked) => (++datagrams === 1 ? undefined : withAddress("192.0.2.4")(asked)),
    });
    expect(addressesIn(await upstream.exchange(query, patient()))).toEqual(["192.0.2.4"]);
  });

  it.each<[string, { udp?: Say; tcp?: Say }]>([
    ["no server answers", {}],
    ["TCP never answers after a truncated answer", { udp: (asked) => answerTo(asked, { flags: 0x8780 }) }],
  ])("ends with the signal if %s", async (_, says) => {
    const { upstream } = await plain(says);
    await expect(upstream.exchange(query, AbortSignal.timeout(100))).rejects.toThrow();
    await expect(upstream.exchange(query, AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
  });

  it("fails if TCP has the answer to another question, or ends early", async () => {
    const truncated: Say = (asked) => answerTo(asked, { flags: 0x8780 });
    const other = await plain({ udp: truncated, tcp: () => answerTo(queryFor("x.example")) });
    await expect(other.upstream.exchange(query, patient())).rejects.toThrow(/not for this query/);
    const early = await plain({ udp: truncated, tcp: () => undefined });
    await expect(early.upstream.exchange(query, patient())).rejects.toThrow();
  });

  it("fails at once if no server listens", async () => {
    const server = await startDnsServer({});
    await server.close();
    const upstream = createPlainUpstream("plain", { address: "127.0.0.1", port: server.port });
    await expect(upstream.exchange(query, patient())).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe("DNS over HTTPS (RFC 8484)", () => {
  const folder = folderOfTests();
  let caFile: string;
  let cert: Awaited<ReturnType<typeof keepSelfSigned>>;
  let server: Required<Listener>;
  let respond: (request: Request) => Response | Promise<Response>;
  const requests: Request[] = [];
  beforeAll(async () => {
    cert = await keepSelfSigned(folder, "localhost", Date.now());
    caFile = cert.certificateFile;
    server = await startNodeServer({
      listen: { host: "127.0.0.1", port: 0 },
      tls: cert,
      fetch: (request) => {
        requests.push(request);
        return respond(request);
      },
      limits: DEFAULT_SERVER_LIMITS,
      protection: ownProtection(),
    });
  });
  afterEach(() => {
    requests.splice(0);
  });
  afterAll(async () => {
    await server.stop(0);
  });

  const origin = () => `https://127.0.0.1:${server.port}`;
  const connectorTo = (
    upstreams: Parameters<typeof openConnector>[0]["upstreams"],
    files = new WatchedFiles(),
  ) => openConnector({ upstreams, serverMilliseconds: 1500 }, files);
  const message = (bytes: Uint8Array) =>
    new Response(Uint8Array.from(bytes), { headers: { "content-type": "application/dns-message" } });
  const answering = async (request: Request) =>
    message(answerTo(new Uint8Array(await request.arrayBuffer())));

  it("posts the query with the token of that origin, and reads the token again when it changes", async () => {
    const tokenFile = join(folder, "cluster-a.token");
    writeFileSync(tokenFile, "first\n");
    const files = new WatchedFiles();
    const connect = await connectorTo([{ origin: origin(), caFile, tokenFile }], files);
    const upstream = connect(`${origin()}/dns-query{?dns}`);
    respond = answering;
    expect(readUpstreamAnswer(query, await upstream.exchange(query, patient()))?.rcode).toBe(0);
    writeFileSync(tokenFile, "second\n");
    await files.refresh();
    await upstream.exchange(query, patient());
    expect(requests.map(({ method, url, headers }) => [method, url, headers.get("authorization")])).toEqual([
      ["POST", `${origin()}/dns-query`, "Bearer first"],
      ["POST", `${origin()}/dns-query`, "Bearer second"],
    ]);
    upstream.close();
  });

  it("does not send the token to another origin, nor trust it by that certificate", async () => {
    const tokenFile = join(folder, "cluster-a.token");
    writeFileSync(tokenFile, "secret\n");
    const listed = { origin: "https://127.0.0.1:1", caFile, tokenFile };
    const connect = await connectorTo([listed]);
    const upstream = connect(`${origin()}/dns-query`);
    await expect(upstream.exchange(query, patient())).rejects.toThrow(/self-signed|certificate/i);
    upstream.close();
    const connectWithout = await connectorTo([listed, { origin: origin(), caFile }]);
    const trusting = connectWithout(`${origin()}/dns-query`);
    respond = answering;
    await trusting.exchange(query, patient());
    expect(requests.map(({ headers }) => headers.get("authorization"))).toEqual([null]);
    trusting.close();
  });

  it.each<[string, () => Response, RegExp]>([
    ["another status", () => new Response("no", { status: 401 }), /HTTP 401/],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "/" } }), /HTTP 302/],
    ["another type", () => new Response("<html>"), /text\/plain/],
    ["more than a message", () => message(new Uint8Array(65_536)), /longer than a DNS message/],
  ])("fails for %s", async (_, response, reason) => {
    const connect = await connectorTo([{ origin: origin(), caFile }]);
    const upstream = connect(`${origin()}/dns-query`);
    respond = response;
    await expect(upstream.exchange(query, patient())).rejects.toThrow(reason);
    respond = answering;
    expect(readUpstreamAnswer(query, await upstream.exchange(query, patient()))).toBeDefined();
    upstream.close();
  });

  it("ends with the signal if no server answers, or a server accepts and is silent", async () => {
    const connect = await connectorTo([{ origin: origin(), caFile }]);
    const upstream = connect(`${origin()}/dns-query`);
    respond = () => new Promise(() => {});
    await expect(upstream.exchange(query, AbortSignal.timeout(100))).rejects.toThrow();
    upstream.close();
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as { port: number };
    const mute = connect(`https://127.0.0.1:${port}/`);
    await expect(mute.exchange(query, AbortSignal.timeout(100))).rejects.toThrow();
    mute.close();
    silent.close();
  });

  /** Something between an upstream and the server that can forget connections, or cut them off. */
  async function startFirewall() {
    const clients: Socket[] = [];
    const forgotten = new Set<Socket>();
    const firewall = createServer((client) => {
      clients.push(client);
      const behind = connect(server.port, "127.0.0.1");
      for (const [from, to] of [
        [client, behind],
        [behind, client],
      ] as const)
        from
          .on("data", (bytes) => void (forgotten.has(client) || to.write(bytes)))
          .on("error", () => {})
          .on("close", () => to.destroy());
    });
    firewall.listen(0, "127.0.0.1");
    await once(firewall, "listening");
    onTestFinished(() => void firewall.close());
    const url = `https://127.0.0.1:${(firewall.address() as AddressInfo).port}`;
    const open = await openConnector(
      { upstreams: [{ origin: url, caFile }], serverMilliseconds: 1000 },
      new WatchedFiles(),
    );
    const upstream = open(`${url}/dns-query`);
    onTestFinished(() => upstream.close());
    return { upstream, clients, forgotten };
  }

  it("goes on over a new connection where one is dead without a sign, as behind a firewall that forgot it", async () => {
    respond = answering;
    const { upstream, clients, forgotten } = await startFirewall();
    const exchange = () => upstream.exchange(query, AbortSignal.timeout(1000));
    await exchange();
    for (const client of clients) forgotten.add(client);
    // Queries never pause: a connection without any ends by itself.
    const answers = async () =>
      Promise.any([exchange(), exchange()]).then(
        () => true,
        () => false,
      );
    await expect.poll(answers, { timeout: DEADLINE, interval: 0 }).toBe(true);
    expect(clients).toHaveLength(2);
  });

  it("sends a query again whose connection was closed without an answer, once", async () => {
    const { upstream, clients } = await startFirewall();
    const cutOff = () => {
      for (const client of clients) client.destroy();
      return new Promise<Response>(() => {});
    };
    respond = () => {
      respond = answering;
      return cutOff();
    };
    expect(readUpstreamAnswer(query, await upstream.exchange(query, patient()))).toBeDefined();
    respond = cutOff;
    await expect(upstream.exchange(query, patient())).rejects.toThrow();
    expect(requests).toHaveLength(4);
  });

  it("trusts a replaced certificate of an upstream without a restart", async () => {
    const replaced = join(folder, "replaced.crt");
    const other = await makeAuthority("other");
    writeFileSync(replaced, other.cert);
    const files = new WatchedFiles();
    const open = await connectorTo([{ origin: origin(), caFile: replaced }], files);
    const upstream = open(`${origin()}/dns-query`);
    onTestFinished(() => upstream.close());
    respond = answering;
    await expect(upstream.exchange(query, patient())).rejects.toThrow(/self-signed|certificate/i);
    writeFileSync(replaced, readFileSync(caFile));
    await files.refresh();
    expect(readUpstreamAnswer(query, await upstream.exchange(query, patient()))).toBeDefined();
  });

  it("names a file that cannot be read", async () => {
    const missing = join(folder, "missing");
    for (const file of ["caFile", "tokenFile"]) {
      const opened = connectorTo([{ origin: origin(), [file]: missing }]);
      await expect(opened).rejects.toThrow(UsageError);
    }
  });
});
