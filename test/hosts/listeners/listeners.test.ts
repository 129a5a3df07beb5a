import { X509Certificate } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gatewayAddresses } from "../../../src/hosts/node/gateway/addresses.ts";
import type { RunningGateway } from "../../../src/hosts/node/gateway-host.ts";
import { listenFailure } from "../../../src/hosts/node/listen.ts";
import { keepSelfSigned } from "../../../src/hosts/node/tls.ts";
import { sha256 } from "../../access/authorities.ts";
import { answerTo, decoded } from "../../forward/fake-upstreams.ts";
import { endpoints, exported } from "../../merge/fixtures.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { twoClusters } from "../../resolve/world.ts";
import { makeAuthority, makeClient } from "../client-certificates.ts";
import { Gateways, push, send } from "../gateways.ts";
import { answeredIds, askUdp, StreamClient } from "./dns-clients.ts";
import { startDnsServer } from "./dns-server.ts";

const WEB = "web.shop.svc.clusterset.local";
const BIG = "big.shop.svc.clusterset.local";
const TOKEN = "token";
const credentials = ["east", "west"].map((clusterId) => ({ clusterId, tokenSha256: sha256(TOKEN) }));

const gateways = new Gateways();
const clients: StreamClient[] = [];
let folder: string;
beforeEach(() => {
  folder = gateways.folder();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await gateways.close();
});

/** A gateway with both clusters pushed; `east` also has headless services with 400 and with 200 endpoints. */
async function start(config: object): Promise<RunningGateway> {
  const gateway = await gateways.start(folder, { push: { credentials }, ...config });
  const [east, west] = twoClusters();
  const headless = (size: number) => {
    const members = Array.from({ length: size }, (_, index) => ({
      address: `10.3.${index >> 8}.${index & 255}`,
    }));
    return exported({ headless: true, endpoints: endpoints(...members) });
  };
  const exports = { ...east!.exports, "shop/big": headless(400), "shop/wide": headless(200) };
  await push(gateway, { ...east!, exports }, TOKEN);
  await push(gateway, west!, TOKEN);
  return gateway;
}

const portOf = (gateway: RunningGateway, kind: "dns" | "dot", index = 0) =>
  gateway.listeners.filter((place) => place.kind === kind)[index]!.port;

async function tcp(port: number): Promise<StreamClient> {
  const client = await StreamClient.tcp(port);
  clients.push(client);
  return client;
}

async function dot(gateway: RunningGateway, index = 0): Promise<StreamClient> {
  const ca = readFileSync(gateway.certificateFile!);
  const client = await StreamClient.tls(portOf(gateway, "dot", index), { ca, ALPNProtocols: ["dot"] });
  clients.push(client);
  return client;
}

const addressesIn = (bytes: Buffer | undefined) =>
  decode(bytes!).answer.map((record) => record.split(" ")[3]);
const DDR = { ddr: { name: "dns.example.org", addresses: ["127.0.0.1"] } };
const ANY_PORT = { dns: { listen: ["127.0.0.1:0"] }, dot: { listen: ["127.0.0.1:0"] } };

describe("a gateway that listens for plain DNS and DNS over TLS", () => {
  /** The answers over UDP, TCP, TLS and HTTPS. */
  const askAll = async (gateway: RunningGateway, query: Uint8Array) => [
    await askUdp(portOf(gateway, "dns"), query),
    (await (await tcp(portOf(gateway, "dns"))).ask(query))!,
    (await (await dot(gateway)).ask(query))!,
    (await send(gateway, "/dns-query", { method: "POST", message: query })).bytes,
  ];

  it("has the same answers as over HTTPS, and designated resolvers with the listeners' ports (RFC 9462)", async () => {
    const gateway = await start({ ...ANY_PORT, ...DDR });
    for (const answer of await askAll(gateway, encodeQuery(WEB, "A", false, 4711))) {
      expect(answer.readUInt16BE(0)).toBe(4711);
      expect(addressesIn(answer).sort()).toEqual(["10.200.0.1", "10.201.0.1"]);
    }
    for (const answer of await askAll(gateway, encodeQuery("_dns.resolver.arpa", "UNKNOWN_64"))) {
      expect(decode(answer).answer).toHaveLength(2);
      for (const listening of [Number(new URL(gateway.url).port), portOf(gateway, "dot")])
        expect(answer.toString("latin1")).toContain(
          String.fromCharCode(0, 3, 0, 2, listening >> 8, listening & 255),
        );
    }
  });

  it("truncates answers over UDP that are whole over TCP (RFC 7766 section 5)", async () => {
    const port = portOf(await start(ANY_PORT), "dns");
    for (const edns of [false, true]) {
      const query = encodeQuery(BIG, "A", edns);
      const truncated = await askUdp(port, query);
      expect(decode(truncated)).toMatchObject({ truncated: true, answer: [] });
      expect(truncated.length).toBe(query.length);
      expect(addressesIn(await (await tcp(port)).ask(query))).toHaveLength(400);
    }
  });
  it("listens on every configured address, on both of localhost, and on all, and answers from the address of the query", async () => {
    const interfaces = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const both = interfaces.some(({ address }) => address === "::1") ? ["127.0.0.1", "::1"] : ["127.0.0.1"];
    const places = { "127.0.0.2:0": ["127.0.0.2"], "localhost:0": both, ":0": both };
    const gateway = await start({ access: { public: true }, dns: { listen: Object.keys(places) } });
    // These clients accept datagrams only from the queried address.
    for (const [index, hosts] of Object.values(places).entries())
      for (const host of hosts) {
        const answer = await askUdp(portOf(gateway, "dns", index), encodeQuery(WEB, "A"), host);
        expect(addressesIn(answer)).toHaveLength(2);
      }
  });
});

it("malformed messages over UDP get FORMERR, and other bytes get no answer: two servers never answer each other", async () => {
  const gateway = await start(ANY_PORT);
  const port = portOf(gateway, "dns");
  const answer = encodeQuery(WEB, "A", false, 2);
  answer[2] = 0x80;
  const cut = encodeQuery(WEB, "A", false, 4).subarray(0, 20);
  const unanswered = [Buffer.alloc(0), encodeQuery(WEB, "A", false, 1).subarray(0, 11), answer];
  const ids = await answeredIds(port, [...unanswered, cut], encodeQuery(WEB, "A", false, 9));
  expect(ids).toEqual([4]);
  expect(decode(await askUdp(port, cut)).rcode).toBe("FORMERR");
  const metrics = (await send(gateway, "/metrics")).bytes.toString();
  expect(metrics).toContain('clusterset_doh_malformed_messages_total{transport="udp"} 3');
});

const optionOf = (clusterId: string) => {
  const query = encodeQuery(WEB, "A");
  const option = Buffer.from([0xfd, 0xe9, 0, clusterId.length, ...Buffer.from(clusterId)]);
  query[query.length - 1] = option.length;
  return Uint8Array.from([...query, ...option]);
};

it("the view is the listener's cluster, independent of the EDNS option, else that of the option", async () => {
  const gateway = await start({
    dns: { listen: ["127.0.0.1:0", { address: "127.0.0.1:0", view: "east" }] },
    dot: { listen: [{ address: "127.0.0.1:0", view: "west" }] },
    sourceCluster: { trusted: [{ clusterId: "west", addresses: ["127.0.0.0/8"] }] },
  });
  const [port, ofEast] = [portOf(gateway, "dns"), portOf(gateway, "dns", 1)];
  const query = encodeQuery(WEB, "A");
  const [EAST, WEST] = [["10.200.0.1"], ["10.201.0.1"]];
  for (const one of [query, optionOf("west")]) expect(addressesIn(await askUdp(ofEast, one))).toEqual(EAST);
  expect(addressesIn(await (await tcp(ofEast)).ask(query))).toEqual(EAST);
  expect(addressesIn(await (await dot(gateway)).ask(query))).toEqual(WEST);
  // The option counts on a listener without a view, from addresses that may name the cluster.
  expect(addressesIn(await askUdp(port, optionOf("west")))).toEqual(WEST);
  for (const one of [query, optionOf("east")]) expect(addressesIn(await askUdp(port, one))).toHaveLength(2);
});

it("the rate limit truncates or drops queries over UDP, and does not affect TCP", async () => {
  const rateLimit = { answersPerSecond: 1, burst: 2, slip: 2, exempt: [] };
  const gateway = await start({ dns: { ...ANY_PORT.dns, rateLimit } });
  const port = portOf(gateway, "dns");
  const socket = createSocket("udp4");
  const answers: Buffer[] = [];
  socket.on("message", (answer) => answers.push(answer));
  socket.connect(port, "127.0.0.1");
  await once(socket, "connect");
  for (let id = 0; id < 40; id++) socket.send(encodeQuery(WEB, "A", true, id));
  const client = await tcp(port);
  for (let id = 0; id < 40; id++)
    expect(addressesIn(await client.ask(encodeQuery(WEB, "A", true, id)))).toHaveLength(2);
  while (answers.length < 20) await once(socket, "message");
  socket.close();
  const whole = answers.filter((answer) => !decode(answer).truncated);
  const truncated = answers.filter((answer) => decode(answer).truncated);
  expect(whole.length).toBeGreaterThanOrEqual(2);
  expect(truncated.length).toBeGreaterThan(10);
  for (const answer of truncated) expect(answer.length).toBeLessThanOrEqual(encodeQuery(WEB, "A").length);
  const metrics = (await send(gateway, "/metrics")).bytes.toString();
  expect(metrics).toMatch(/clusterset_doh_rate_limited_queries_total\{action="dropped"\} 1\d/);
  expect(metrics).toMatch(/clusterset_doh_rate_limited_queries_total\{action="truncated"\} 1\d/);
});

it("queries below a stub zone go to its name servers, and their answers are fitted to the transport", async () => {
  const authority = await makeAuthority("federation control plane");
  const name = "myservice.myns.myfederation.svc.federation";
  const addresses = Array.from({ length: 100 }, (_, index) => `192.0.2.${index}`);
  const say = (query: Buffer) =>
    answerTo(query, { answers: addresses.map((data) => ({ type: "A", name, ttl: 30, data })) });
  const server = await startDnsServer({ udp: say });
  writeFileSync(join(folder, "clients.crt"), authority.cert);
  const gateway = await start({ ...ANY_PORT, tls: { clientCaFile: "clients.crt" } });
  await send(gateway, "/federations/myfederation", {
    method: "POST",
    json: { nameservers: [`127.0.0.1:${server.port}`] },
    client: await makeClient(authority, "cluster-controller"),
  });
  const port = portOf(gateway, "dns");
  const query = encodeQuery(name, "A", true, 77);
  const client = await tcp(port);
  // The forwarded query does not delay the others.
  client.send(query, encodeQuery(WEB, "A", true, 78));
  const both = [await client.next(), await client.next()];
  expect(both.map((answer) => [answer!.readUInt16BE(0), decode(answer!).answer.length])).toEqual([
    [78, 2],
    [77, 100],
  ]);
  const overUdp = await askUdp(port, query);
  expect(decode(overUdp)).toMatchObject({ truncated: true, answer: [] });
  expect(decoded(overUdp).rcode).toBe("NOERROR");
  const metrics = (await send(gateway, "/metrics")).bytes.toString();
  expect(metrics).toContain('queries_total{transport="udp",view="outside",outcome="answer",type="A"} 1');
  await server.close();
});

describe("designated resolvers (RFC 9462)", () => {
  it("are in the self-signed certificate, with the addresses of the listeners", async () => {
    const gateway = await start({ ...DDR, dns: { listen: ["127.0.0.3:0"] } });
    const { subjectAltName } = new X509Certificate(readFileSync(gateway.certificateFile!));
    expect(subjectAltName).toContain("DNS:dns.example.org");
    expect(subjectAltName).toContain("IP Address:127.0.0.3");
  });

  it("require the port of the proxy that ends TLS, else a certificate for the name", async () => {
    const clear = gateways.start(folder, { ddr: { name: "other.example" }, tls: false });
    await expect(clear).rejects.toThrow(/ddr\.httpsPort: with tls: false/);
    const made = await keepSelfSigned(join(folder, "own"), "other.example", Date.now());
    const tls = { certificateFile: made.certificateFile, keyFile: join(folder, "own/tls/self-signed.key") };
    await expect(gateways.start(folder, { ...DDR, tls })).rejects.toThrow(
      /ddr\.name: the certificate in .*self-signed\.crt is not for dns\.example\.org/,
    );
    expect((await gateways.start(folder, { ddr: { name: "other.example" }, tls })).listeners).toEqual([]);
  });
});

describe("an address on which it cannot listen", () => {
  it.each(["dns", "dot"] as const)("is an error, and nothing stays open: %s", async (kind) => {
    const taken = createServer();
    taken.listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { port: number };
    const config = { ...ANY_PORT, [kind]: { listen: ["127.0.0.1:0", `127.0.0.1:${port}`] } };
    const message = `${kind}.listen: 127.0.0.1:${port} is taken: stop the program that listens there, or choose another --${kind} HOST:PORT`;
    await expect(gateways.start(folder, config)).rejects.toThrow(message);
    // The state folder is free again, too.
    await expect(gateways.start(folder, config)).rejects.toThrow(message);
    taken.close();
    await once(taken, "close");
    expect((await gateways.start(folder, config)).listeners).toHaveLength(3);
  });

  const TAKEN =
    /127\.0\.0\.1:8443 is taken: stop the program that listens there, or choose another --listen HOST:PORT$/;
  it.each([
    ["EADDRINUSE", "127.0.0.1", 8443, undefined, TAKEN],
    ["EACCES", undefined, 53, "dns", /^dns.listen: port 53 is not allowed: .*CAP_NET_BIND_SERVICE/],
    ["EACCES", "::1", 5353, "dns", /^dns.listen: \[::1\]:5353 is not allowed: choose another --dns HOST:P/],
    ["EADDRNOTAVAIL", "192.0.2.1", 0, "dns", /192\.0\.2\.1:0 is not an address of this machine: choose ano/],
  ] as const)("is an error with the next step: %s at %s %i for %s", (code, host, port, kind, message) => {
    const error = listenFailure(Object.assign(new Error(code), { code }), { host, port }, kind);
    expect(error).toMatchObject({ code: "USAGE", message: expect.stringMatching(message) });
  });
});

const shown = { outsideZones: "refuse" as const, ddr: { addresses: ["192.0.2.1"] } };
const listener = (address: string, view?: string) => ({
  kind: "dot" as const,
  address,
  port: Number(address.split(":").at(-1)),
  view,
});

/** The first one is of no use to others. */
const OF_VIEW = [listener("127.0.0.1:853", "cluster-a"), listener("127.0.0.1:8853")];

it.each([
  ["nothing", [], undefined],
  ["one address", [listener("127.0.0.1:853")], { address: "127.0.0.1", port: 853 }],
  ["localhost", [listener("localhost:853")], { address: "127.0.0.1", port: 853 }],
  ["every address of IPv4", [listener("0.0.0.0:853")], { address: undefined, port: 853 }],
  ["every address of IPv6", [listener("[::]:853")], { address: undefined, port: 853 }],
  ["none of a cluster's view", OF_VIEW, { address: "127.0.0.1", port: 8853 }],
])("shows listeners on the pages: %s", (_, places, dot) => {
  const known = { outside: "refuse", certificate: "PEM", addresses: ["192.0.2.1"], dns: undefined };
  expect(gatewayAddresses(shown as never, places, "PEM")).toEqual({ ...known, dot });
});
