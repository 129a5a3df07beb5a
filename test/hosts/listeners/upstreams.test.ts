import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { readUpstreamAnswer } from "../../../src/forward/upstream.ts";
import { WatchedFiles } from "../../../src/hosts/node/files.ts";
import { openConnector } from "../../../src/hosts/node/upstreams/configured-upstreams.ts";
import {
  createPlainUpstream,
  exchangeUdp,
  hasSameCase,
  randomizeCase,
  restoreCase,
} from "../../../src/hosts/node/upstreams/plain-upstream.ts";
import { DEADLINE } from "../../deadline.ts";
import { folderOfTests } from "../../folders.ts";
import { answerTo, decoded, queryFor } from "../../forward/fake-upstreams.ts";
import { until } from "../../until.ts";
import { makeAuthority } from "../client-certificates.ts";
import { serversOfTests } from "../server/tls-fixture.ts";
import { type Say, startDnsServer } from "./dns-server.ts";

const name = "web.shop.fed.svc.federation";
const query = queryFor(name, { id: 0 });
/** Answers with an address and the owner name in the query's case, uncompressed. */
const withAddress =
  (data: string): Say =>
  (asked) =>
    answerTo(asked, { answers: [{ type: "A", name: nameIn(asked), ttl: 30, data }] });
const nameIn = (message: Uint8Array) => decoded(message).questions![0]!.name;
const ANSWER = "192.0.2.1";
const truncated: Say = (asked) => answerTo(asked, { flags: 0x8780 });
const patient = () => AbortSignal.timeout(DEADLINE);

async function plain(says: { udp?: Say; tcp?: Say }, options = {}) {
  const server = await startDnsServer(says);
  onTestFinished(() => server.close());
  const endpoint = { address: "127.0.0.1", port: server.port };
  return { server, endpoint, upstream: createPlainUpstream("plain", endpoint, options) };
}

const addressesIn = (bytes: Uint8Array) =>
  decoded(bytes).answers?.map((record) => "data" in record && record.data);

describe("plain DNS", () => {
  it("uses UDP with random IDs and source ports (RFC 5452 section 9.2)", async () => {
    const { server, upstream } = await plain({ udp: withAddress(ANSWER) });
    for (let count = 0; count < 12; count++) {
      const answer = await upstream.exchange(query, patient());
      expect(addressesIn(answer)).toEqual([ANSWER]);
      expect(decoded(answer).id).toBe(0);
    }
    expect(new Set(server.udp.map((one) => one.readUInt16BE(0))).size).toBeGreaterThan(8);
    expect(new Set(server.sourcePorts).size).toBeGreaterThan(8);
    expect(server.udp.every((one) => one.subarray(2).equals(query.subarray(2)))).toBe(true);
  });

  it("fails only the exchange whose answer throws, or whose socket cannot be connected", async () => {
    const { endpoint } = await plain({ udp: withAddress("192.0.2.1") });
    const broken = () => {
      throw new Error("planted");
    };
    await expect(exchangeUdp(endpoint, query, broken, patient())).rejects.toThrow("planted");
    expect(decoded(await exchangeUdp(endpoint, query, () => true, patient())).answers).toHaveLength(1);
    // Without SO_BROADCAST the system refuses it, as it does an address without a route.
    const nowhere = { address: "255.255.255.255", port: 53 };
    await expect(exchangeUdp(nowhere, query, () => true, patient())).rejects.toThrow("EACCES");
  });

  let datagrams = 0;
  const afterLoss: Say = (asked) => (datagrams++ === 0 ? undefined : withAddress(ANSWER)(asked));
  const amongOthers: Say = (asked) => {
    const forged = answerTo(asked);
    forged[0] = forged[0]! ^ 0xff;
    const other = answerTo(queryFor("x.example", { id: asked.readUInt16BE(0) }));
    return [forged, other, Buffer.from("nonsense"), withAddress(ANSWER)(asked) as Uint8Array];
  };
  it.each<[string, { udp: Say; tcp?: Say }, tcp: number]>([
    ["over TCP after a truncated one (RFC 7766 section 5)", { udp: truncated, tcp: withAddress(ANSWER) }, 1],
    ["among datagrams that do not answer the query", { udp: amongOthers }, 0],
    ["to a datagram that it sent again", { udp: afterLoss }, 0],
  ])("takes the answer %s", async (_, says, overTcp) => {
    const { server, upstream } = await plain(says);
    expect(addressesIn(await upstream.exchange(query, patient()))).toEqual([ANSWER]);
    expect(server.tcp).toHaveLength(overTcp);
  });

  it.each<[string, { udp?: Say; tcp?: Say }]>([
    ["no server answers", {}],
    ["TCP never answers after a truncated answer", { udp: truncated }],
  ])("ends with the signal if %s", async (_, says) => {
    const { upstream } = await plain(says);
    await expect(upstream.exchange(query, AbortSignal.timeout(100))).rejects.toThrow();
    await expect(upstream.exchange(query, AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
  });

  it("fails if TCP has the answer to another question, or ends early", async () => {
    const other = await plain({ udp: truncated, tcp: () => answerTo(queryFor("x.example")) });
    await expect(other.upstream.exchange(query, patient())).rejects.toThrow(/not for this query/);
    const early = await plain({ udp: truncated, tcp: () => undefined });
    await expect(early.upstream.exchange(query, patient())).rejects.toThrow();
  });

  it("fails at once if no server listens", async () => {
    const { port, close } = await startDnsServer({});
    await close();
    const upstream = createPlainUpstream("plain", { address: "127.0.0.1", port });
    await expect(upstream.exchange(query, patient())).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe("letters in random case (draft-vixie-dnsext-dns0x20)", () => {
  const other = "Other.example.com";
  /** The name in the query's case, as the owner of a CNAME and in the case that `as` gives it. */
  const alias =
    (data: string, as = (asked: string) => asked): Say =>
    (asked) => {
      const answer = [
        { type: "CNAME", name: nameIn(asked), ttl: 1, data: other },
        { type: "A", name: other, ttl: 1, data },
      ] as const;
      return answerTo(queryFor(as(nameIn(asked)), { id: asked.readUInt16BE(0) }), { answers: [...answer] });
    };

  it("differ from query to query; the client gets its own case, and other names do not change", async () => {
    const { server, upstream } = await plain({ udp: alias("192.0.2.1") }, { randomizeCase: true });
    for (let count = 0; count < 8; count++)
      expect(decoded(await upstream.exchange(query, patient()))).toMatchObject({
        id: 0,
        questions: [{ name }],
        answers: [
          { name, data: other },
          { name: other, data: "192.0.2.1" },
        ],
      });
    const spellings = server.udp.map(nameIn);
    expect(new Set(spellings).size).toBe(8);
    expect(new Set(spellings.map((one) => one.toLowerCase()))).toEqual(new Set([name]));
    expect(server.tcp).toEqual([]);
  });

  it("that differ in an answer over UDP cause a query over TCP, where forging is hard", async () => {
    const lower = (asked: string) => asked.toLowerCase();
    const says = { udp: alias("192.0.2.66", lower), tcp: alias("192.0.2.1", lower) };
    const { server, upstream } = await plain(says, { randomizeCase: true });
    const answer = decoded(await upstream.exchange(query, patient()));
    expect(answer).toMatchObject({ id: 0, answers: [{ name }, { data: "192.0.2.1" }] });
    expect([server.udp.length, server.tcp.length]).toEqual([1, 1]);
  });

  it("are all that changes, for any bytes of a name", () => {
    const labels = fc.array(fc.uint8Array({ minLength: 1, maxLength: 20 }), { maxLength: 8 });
    const header = queryFor(".").subarray(0, 12);
    fc.assert(
      fc.property(labels, (all) => {
        const named = all.flatMap((label) => [label.length, ...label]);
        // Type A, class IN.
        const before = Uint8Array.of(...header, ...named, 0, 0, 1, 0, 1);
        const after = before.slice();
        randomizeCase(after);
        for (const [at, byte] of before.entries()) {
          const isLetter = at >= 12 && /[A-Za-z]/.test(String.fromCharCode(byte));
          if (byte !== after[at]) expect([isLetter, byte ^ 0x20]).toEqual([true, after[at]]);
        }
        // A length byte is never a letter: the question differs only in case.
        after[2] = 0x81;
        expect(readUpstreamAnswer(before, after)).toBeDefined();
        restoreCase(before, after);
        expect(hasSameCase(before, after)).toBe(true);
        expect(after.subarray(12)).toEqual(before.subarray(12));
      }),
    );
  });
});

describe("DNS over HTTPS (RFC 8484)", () => {
  const servers = serversOfTests();
  const folder = folderOfTests();
  const caFile = join(folder, "ca.crt");
  let origin: string;
  let respond: (request: Request) => Response | Promise<Response>;
  const requests: Request[] = [];
  beforeEach(async () => {
    requests.splice(0);
    writeFileSync(caFile, servers.tls.cert);
    const fetch = (request: Request) => {
      requests.push(request);
      return respond(request);
    };
    origin = `https://127.0.0.1:${(await servers.start({ fetch })).port}`;
  });

  const connectorTo = (
    upstreams: Parameters<typeof openConnector>[0]["upstreams"],
    files = new WatchedFiles(),
  ) => openConnector({ upstreams, serverMilliseconds: 1000, queriesInFlight: 100 }, files);
  /** An upstream at the server, or at another URL, which closes after the test. */
  async function openUpstream(more: object = {}, url = origin, files?: WatchedFiles, path = "/dns-query") {
    const open = await connectorTo([{ origin: url, caFile, ...more }], files);
    const upstream = open(`${url}${path}`);
    onTestFinished(() => upstream.close());
    return upstream;
  }
  const message = (bytes: Uint8Array) =>
    new Response(Uint8Array.from(bytes), { headers: { "content-type": "application/dns-message" } });
  const answering = async (request: Request) =>
    message(answerTo(new Uint8Array(await request.arrayBuffer())));

  it("posts the query with the token of that origin, and reads token and certificate again when they change", async () => {
    const [tokenFile, replaced] = [join(folder, "cluster-a.token"), join(folder, "replaced.crt")];
    writeFileSync(tokenFile, "first\n");
    writeFileSync(replaced, (await makeAuthority("other")).cert);
    const files = new WatchedFiles();
    const more = { tokenFile, caFile: replaced };
    const upstream = await openUpstream(more, origin, files, "/dns-query{?dns}");
    respond = answering;
    await expect(upstream.exchange(query, patient())).rejects.toThrow(/self-signed|certificate/i);
    writeFileSync(replaced, readFileSync(caFile));
    await files.refresh();
    expect(readUpstreamAnswer(query, await upstream.exchange(query, patient()))?.rcode).toBe(0);
    writeFileSync(tokenFile, "second\n");
    await files.refresh();
    await upstream.exchange(query, patient());
    expect(requests.map(({ method, url, headers }) => [method, url, headers.get("authorization")])).toEqual([
      ["POST", `${origin}/dns-query`, "Bearer first"],
      ["POST", `${origin}/dns-query`, "Bearer second"],
    ]);
  });

  it("does not send the token to another origin, nor trust it by that certificate", async () => {
    const tokenFile = join(folder, "cluster-a.token");
    writeFileSync(tokenFile, "secret\n");
    const listed = { origin: "https://127.0.0.1:1", caFile, tokenFile };
    respond = answering;
    for (const upstreams of [[listed], [listed, { origin, caFile }]]) {
      const upstream = (await connectorTo(upstreams))(`${origin}/dns-query`);
      const exchanged = upstream.exchange(query, patient());
      if (upstreams.length === 1) await expect(exchanged).rejects.toThrow(/self-signed|certificate/i);
      else await exchanged;
      upstream.close();
    }
    expect(requests.map(({ headers }) => headers.get("authorization"))).toEqual([null]);
  });

  it.each<[string, () => Response, RegExp]>([
    ["another status", () => new Response("no", { status: 401 }), /HTTP 401/],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "/" } }), /HTTP 302/],
    ["another type", () => new Response("<html>"), /text\/plain/],
    ["more than a message", () => message(new Uint8Array(65_536)), /longer than a DNS message/],
  ])("fails for %s", async (_, response, reason) => {
    const upstream = await openUpstream();
    respond = response;
    await expect(upstream.exchange(query, patient())).rejects.toThrow(reason);
    respond = answering;
    expect(readUpstreamAnswer(query, await upstream.exchange(query, patient()))).toBeDefined();
  });

  it("ends with the signal if no server answers, or a server accepts and is silent", async () => {
    respond = () => new Promise(() => {});
    const silent = createServer();
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const mute = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    for (const upstream of [await openUpstream(), await openUpstream({}, mute)])
      await expect(upstream.exchange(query, AbortSignal.timeout(100))).rejects.toThrow();
    silent.close();
  });

  it("answers while HTTP/1.1, which has one query a connection, waits for the answers to others", async () => {
    const isSlow = (asked: Buffer) => nameIn(asked).startsWith("slow");
    const server = createHttpsServer(servers.tls, async (request, response) => {
      const asked = await buffer(request);
      if (!isSlow(asked))
        response.writeHead(200, { "content-type": "application/dns-message" }).end(answerTo(asked));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const limits = { serverMilliseconds: 2 * DEADLINE, queriesInFlight: 100 };
    const open = await openConnector({ upstreams: [{ origin: url, caFile }], ...limits }, new WatchedFiles());
    const upstream = open(url);
    const slow = new AbortController();
    onTestFinished(() => {
      slow.abort();
      upstream.close();
      server.close();
    });
    for (let count = 1; count < 100; count++)
      upstream.exchange(queryFor("slow.example", { id: 0 }), slow.signal).catch(() => {});
    expect(readUpstreamAnswer(query, await upstream.exchange(query, patient()))).toBeDefined();
  });

  /** Something between an upstream and the server that can forget connections, or cut them off. */
  async function startFirewall() {
    const clients: Socket[] = [];
    const forgotten = new Set<Socket>();
    const firewall = createServer((client) => {
      clients.push(client);
      const behind = connect(Number(new URL(origin).port), "127.0.0.1");
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
    return { upstream: await openUpstream({}, url), clients, forgotten };
  }

  it("goes on over a new connection where one is dead without a sign, as behind a firewall that forgot it", async () => {
    respond = answering;
    const { upstream, clients, forgotten } = await startFirewall();
    const exchange = () => upstream.exchange(query, AbortSignal.timeout(1000));
    await exchange();
    for (const client of clients) forgotten.add(client);
    // Queries never pause: a connection without any ends by itself.
    await until(() => Promise.any([exchange(), exchange()]));
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
});
