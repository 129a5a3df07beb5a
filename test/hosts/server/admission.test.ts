import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { loadAdmission } from "../../../src/hosts/node/access/node-admission.ts";
import { loadAuthority, openIssuers } from "../../../src/hosts/node/access/node-authority.ts";
import { readServeConfig } from "../../../src/hosts/node/config.ts";
import { WatchedFiles } from "../../../src/hosts/node/files.ts";
import { startRefreshers } from "../../../src/hosts/node/gateway/parts.ts";
import type { RunningGateway } from "../../../src/hosts/node/gateway-host.ts";
import type { HttpRequest } from "../../../src/http/messages/message.ts";
import { sha256 } from "../../access/authorities.ts";
import { credentialsOf } from "../../conformance/host-under-test.ts";
import { httpWorld, WHO } from "../../conformance/http-world.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { makeAuthority, makeClient, type PemPair } from "../client-certificates.ts";
import { Gateways, push, type Sent, send } from "../gateways.ts";
import { askUdp } from "../listeners/dns-clients.ts";

const TOKENS = ["cluster-a", "cluster-b"].map((clusterId) => ({ clusterId, token: `${clusterId}-token` }));
const PUSH = { credentials: credentialsOf(TOKENS) };
const A = { clusters: ["cluster-a"] };
const B = { clusters: ["cluster-b"] };
const POD = "spiffe://example.org/pod";
const VIA_A = ["10.1.0.2"];
const VIA_B = ["10.2.0.2"];

let authority: PemPair;
let pod: PemPair;
let other: PemPair;
beforeAll(async () => {
  authority = await makeAuthority("clients");
  [pod, other] = await Promise.all([
    makeClient(authority, "pod", { uris: [POD] }),
    makeClient(authority, "other", { uris: [`${POD}/other`] }),
  ]);
});

const gateways = new Gateways();
afterEach(() => gateways.close());

/** Starts a gateway with both clusters of the world. */
async function start(config: object): Promise<RunningGateway> {
  const folder = gateways.folder();
  writeFileSync(join(folder, "clients.crt"), authority.cert);
  const gateway = await gateways.start(folder, { push: PUSH, zones: ["clusterset.test"], ...config });
  for (const snapshot of httpWorld) await push(gateway, snapshot, `${snapshot.clusterId}-token`);
  return gateway;
}

const addressesIn = (message: Uint8Array) =>
  decode(Buffer.from(message))
    .answer.map((record) => record.split(" ").at(-1))
    .sort();

/** The addresses of a name, or the status where it is not 200. */
async function ask(gateway: RunningGateway, sent: Sent & { prefix?: string } = {}) {
  const { prefix = "", ...more } = sent;
  const message = new Uint8Array(encodeQuery(WHO, "A"));
  const { status, bytes } = await send(gateway, `${prefix}/dns-query`, { method: "POST", message, ...more });
  return status === 200 ? addressesIn(bytes) : status;
}

describe.each([true, false])("a gateway on Node with rules (HTTP/2: %s)", (http2) => {
  it("admits a client by its certificate, and rejects one with another certificate", async () => {
    const gateway = await start({
      tls: { clientCaFile: "clients.crt" },
      access: {
        rules: [
          { name: "pods", scope: A, certificates: [{ san: POD }] },
          { name: "laptops", scope: B, bearer: [{ tokenSha256: sha256("laptop") }] },
        ],
      },
    });
    expect(await ask(gateway, { client: pod, http2 })).toEqual(VIA_A);
    expect(await ask(gateway, { client: other, http2 })).toBe(403);
    expect(await ask(gateway, { client: pod, token: "laptop", http2 })).toEqual(VIA_B);
    expect(await ask(gateway, { client: pod, token: "other", http2 })).toBe(401);
    expect(await ask(gateway, { http2 })).toBe(401);
    const federation = { method: "POST", json: { nameservers: ["192.0.2.1"] }, http2 } as const;
    const registered = await send(gateway, "/federations/one", { ...federation, client: pod });
    expect([registered.status, registered.json().code]).toEqual([403, "CERTIFICATE_FOR_QUERIES"]);
    expect((await send(gateway, "/federations/one", { ...federation, client: other })).status).toBe(201);
  });

  it("admits a client by the socket's address", async () => {
    const rule = (addresses: string[]) => ({ name: "here", scope: A, addresses });
    const here = await start({ access: { public: B, rules: [rule(["127.0.0.0/8", "::1"])] } });
    expect(await ask(here, { http2 })).toEqual(VIA_A);
    const there = await start({ access: { public: B, rules: [rule(["192.0.2.0/24"])] } });
    expect(await ask(there, { http2 })).toEqual(VIA_B);
    const forged = { "x-forwarded-for": "192.0.2.1", forwarded: "for=192.0.2.1" };
    expect(await ask(there, { http2, headers: forged })).toEqual(VIA_B);
  });
});

it("a listener with a rule answers by its rule's visibility and view; a listener without a rule by the public visibility", async () => {
  const scopes = { lan: A, west: { view: "cluster-a" } };
  const rules = Object.entries(scopes).map(([name, scope]) => ({ name, scope }));
  const listeners = [{ rule: "lan" }, {}, { rule: "west" }, { rule: "lan", view: "cluster-a" }];
  const listen = listeners.map((one) => ({ address: "127.0.0.1:0", ...one }));
  const gateway = await start({ access: { public: B, rules }, dns: { listen } });
  const ports = gateway.listeners.map(({ port }) => port);
  const query = encodeQuery(WHO, "A");
  const answers = await Promise.all(ports.map(async (port) => addressesIn(await askUdp(port, query))));
  expect(answers).toEqual([VIA_A, VIA_B, VIA_A, VIA_A]);
  expect(await ask(gateway)).toEqual(VIA_B);
});

describe("files of rules", () => {
  let files: WatchedFiles;
  let folder: string;
  beforeEach(() => {
    files = new WatchedFiles();
    folder = gateways.folder();
  });
  const at = (name: string) => join(folder, name);
  const write = (texts: Record<string, string>) => {
    for (const [name, text] of Object.entries(texts)) writeFileSync(at(name), text);
  };

  async function load(rules: object[]) {
    write({ "gateway.json": JSON.stringify({ access: { hostNames: ["doh.example"], rules } }) });
    const issuers = await openIssuers([], files, () => {});
    const known = await loadAdmission(readServeConfig({ config: at("gateway.json") }), files, issuers);
    return async (authorization: string) => {
      const header = (name: string) => (name === "authorization" ? authorization : null);
      const request = { method: "GET", url: "/dns-query", host: "", client: undefined, header };
      return (await known.admit(request as HttpRequest)).rule !== undefined;
    };
  }
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

  it("are read again: tokens, one a line, and passwords rotate, and what cannot be read leaves the last ones", async () => {
    write({ "a.token": "first\n", "ci.password": "two words\n" });
    const rule = {
      name: "one",
      bearer: [{ tokenFile: "a.token" }, { tokenSha256: sha256("fixed") }],
      basic: [{ username: "ci", passwordFile: "ci.password" }],
    };
    const isKnown = await load([rule]);
    const areKnown = async (...all: string[]) => (await Promise.all(all.map(isKnown))).every(Boolean);
    expect(await files.refresh()).toBe(false);
    expect(await areKnown("Bearer first", "Bearer fixed", basic("ci:two words"))).toBe(true);
    write({ "a.token": "first\n\nsecond\n" });
    expect(await files.refresh()).toBe(true);
    expect(await areKnown("Bearer first", "Bearer second")).toBe(true);
    write({ "a.token": "second\n", "ci.password": "pässword" });
    expect(await files.refresh()).toBe(true);
    expect(await isKnown("Bearer first")).toBe(false);
    expect(await areKnown("Bearer second", "Bearer fixed", basic("ci:pa\u0308ssword"))).toBe(true);
    write({ "a.token": "" });
    await expect(files.refresh()).rejects.toThrow("a.token is empty");
    expect(await isKnown("Bearer second")).toBe(true);
  });

  it("keep each the last value of its own rule or credential: one that cannot be read holds back no other, and the error names all", async () => {
    write({ "east.token": "east-1", "west.token": "west-1", "ops.token": "ops-1", "shop.token": "shop-1" });
    const issuers = await openIssuers([], files, () => {});
    const credentials = ["east", "west"].map((clusterId) => ({
      clusterId,
      tokenFile: at(`${clusterId}.token`),
    }));
    const pushing = await loadAuthority(credentials, "push.credentials", files, issuers);
    const isKnown = await load(
      ["ops", "shop"].map((name) => ({ name, bearer: [{ tokenFile: `${name}.token` }] })),
    );
    write({ "east.token": "", "west.token": "west-2", "ops.token": "", "shop.token": "shop-2" });
    await expect(files.refresh()).rejects.toThrow(/east\.token is empty.*; .*ops\.token is empty/);
    const clusters = async (token: string) => [...(await pushing.clustersOf(`Bearer ${token}`))!];
    expect(await Promise.all(["east-1", "west-1", "west-2"].map(clusters))).toEqual([["east"], [], ["west"]]);
    const tokens = ["Bearer ops-1", "Bearer shop-1", "Bearer shop-2"];
    expect(await Promise.all(tokens.map(isKnown))).toEqual([true, false, true]);
  });

  it.each([
    ["pathTokens", "a/b", "cannot stand in a path: letters, digits and - . _ ~"],
    ["hostTokens", "UPPER", "cannot stand in a host name (clusterset-doh token --host-name)"],
    ["hostTokens", "a".repeat(64), "cannot stand in a host name"],
    ["bearer", "first\ntwo words", "holds more than one word"],
    ["basic", "", "is empty"],
    ["basic", "two\nlines", "holds more than one line"],
  ])("that hold nothing usable are reported: %s %j", async (kind, text, message) => {
    write({ file: text });
    const secret = kind === "basic" ? { username: "ci", passwordFile: "file" } : { tokenFile: "file" };
    await expect(load([{ name: "one", [kind]: [secret] }])).rejects.toThrow(message);
  });

  it("are read again by refreshers: one that waits for its disk is not called before it ends, and others are", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const slow = Promise.withResolvers<void>();
    const waits = vi.fn(() => slow.promise);
    const fails = vi.fn(() => Promise.reject(new Error("ENOENT")));
    const warn = vi.fn();
    const refreshers = startRefreshers([waits, fails], { warn });
    await vi.advanceTimersByTimeAsync(30_000);
    expect([waits, fails, warn].map(({ mock }) => mock.calls.length)).toEqual([1, 3, 3]);
    slow.resolve();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(waits).toHaveBeenCalledTimes(2);
    refreshers.close();
  });
});
