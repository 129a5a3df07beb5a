import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { AccessControl } from "../../../src/access/admission.ts";
import { loadAdmission } from "../../../src/hosts/node/access/node-admission.ts";
import { loadAuthority, openIssuers } from "../../../src/hosts/node/access/node-authority.ts";
import { readServeConfig } from "../../../src/hosts/node/config.ts";
import { WatchedFiles } from "../../../src/hosts/node/files.ts";
import type { RunningGateway } from "../../../src/hosts/node/gateway-host.ts";
import type { HttpRequest } from "../../../src/http/messages/message.ts";
import { credentialsOf } from "../../conformance/host-under-test.ts";
import { httpWorld, WHO } from "../../conformance/http-world.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { makeAuthority, makeClient, type PemPair } from "../client-certificates.ts";
import { Gateways, push, type Sent, send } from "../gateways.ts";
import { askUdp } from "../listeners/dns-clients.ts";

const hex = (text: string) => createHash("sha256").update(text).digest("hex");
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
          { name: "laptops", scope: B, bearer: [{ tokenSha256: hex("laptop") }] },
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

describe("a listener with a rule", () => {
  it("answers by its rule's visibility and view; a listener without a rule by the public visibility", async () => {
    const gateway = await start({
      access: {
        public: B,
        rules: [
          { name: "lan", scope: A },
          { name: "west", scope: { view: "cluster-a" } },
        ],
      },
      dns: {
        listen: [
          { address: "127.0.0.1:0", rule: "lan" },
          "127.0.0.1:0",
          { address: "127.0.0.1:0", rule: "west" },
          { address: "127.0.0.1:0", rule: "lan", view: "cluster-a" },
        ],
      },
    });
    const ports = gateway.listeners.map(({ port }) => port);
    const query = encodeQuery(WHO, "A");
    const answers = await Promise.all(ports.map(async (port) => addressesIn(await askUdp(port, query))));
    expect(answers).toEqual([VIA_A, VIA_B, VIA_A, VIA_A]);
    expect(await ask(gateway)).toEqual(VIA_B);
  });
});

describe("files of rules", () => {
  let files: WatchedFiles;
  const asking = async (folder: string, rule: object) => {
    files = new WatchedFiles();
    const config = join(folder, "gateway.json");
    writeFileSync(
      config,
      JSON.stringify({ access: { hostNames: ["doh.example"], rules: [{ name: "one", ...rule }] } }),
    );
    return loadAdmission(readServeConfig({ config }), files, await openIssuers([], files, () => {}));
  };
  const shown = (authorization: string): HttpRequest => ({
    method: "GET",
    url: "/dns-query",
    host: "",
    client: undefined,
    header: (name) => (name === "authorization" ? authorization : null),
    body: async () => undefined,
  });
  const isKnown = async (known: Pick<AccessControl, "admit">, authorization: string) =>
    (await known.admit(shown(authorization))).rule !== undefined;
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

  it("are read again: tokens and passwords rotate, and what cannot be read leaves the last ones", async () => {
    const folder = gateways.folder();
    writeFileSync(join(folder, "a.token"), "first\n");
    writeFileSync(join(folder, "ci.password"), "two words\n");
    const known = await asking(folder, {
      bearer: [{ tokenFile: "a.token" }, { tokenSha256: hex("fixed") }],
      basic: [{ username: "ci", passwordFile: "ci.password" }],
    });
    expect(await files.refresh()).toBe(false);
    for (const authorization of ["Bearer first", "Bearer fixed", basic("ci:two words")])
      expect(await isKnown(known, authorization)).toBe(true);
    writeFileSync(join(folder, "a.token"), "second\n");
    writeFileSync(join(folder, "ci.password"), "pässword");
    expect(await files.refresh()).toBe(true);
    expect(await isKnown(known, "Bearer first")).toBe(false);
    for (const authorization of ["Bearer second", "Bearer fixed", basic("ci:pa\u0308ssword")])
      expect(await isKnown(known, authorization)).toBe(true);
    writeFileSync(join(folder, "a.token"), "");
    await expect(files.refresh()).rejects.toThrow("a.token is empty");
    expect(await isKnown(known, "Bearer second")).toBe(true);
  });

  it("keep each the last value of its own rule or credential: one that cannot be read holds back no other, and the error names all", async () => {
    const folder = gateways.folder();
    const inFolder = (name: string) => join(folder, `${name}.token`);
    const write = (texts: Record<string, string>) => {
      for (const [name, text] of Object.entries(texts)) writeFileSync(inFolder(name), text);
    };
    write({ east: "east-1", west: "west-1", ops: "ops-1", shop: "shop-1" });
    files = new WatchedFiles();
    const issuers = await openIssuers([], files, () => {});
    const credentials = ["east", "west"].map((clusterId) => ({ clusterId, tokenFile: inFolder(clusterId) }));
    const pushing = await loadAuthority(credentials, "push.credentials", files, issuers);
    const config = join(folder, "gateway.json");
    const rules = ["ops", "shop"].map((name) => ({ name, bearer: [{ tokenFile: `${name}.token` }] }));
    writeFileSync(config, JSON.stringify({ access: { rules } }));
    const known = await loadAdmission(readServeConfig({ config }), files, issuers);

    write({ east: "", west: "west-2", ops: "", shop: "shop-2" });
    await expect(files.refresh()).rejects.toThrow(/east\.token is empty.*; .*ops\.token is empty/);
    const clusters = async (token: string) => [...(await pushing.clustersOf(`Bearer ${token}`))!];
    expect(await Promise.all(["east-1", "west-1", "west-2"].map(clusters))).toEqual([["east"], [], ["west"]]);
    const isAdmitted = (token: string) => isKnown(known, `Bearer ${token}`);
    expect(await Promise.all(["ops-1", "shop-1", "shop-2"].map(isAdmitted))).toEqual([true, false, true]);
  });

  it("may hold several tokens, one a line, all of which are valid", async () => {
    const folder = gateways.folder();
    writeFileSync(join(folder, "a.token"), "first\n");
    const known = await asking(folder, { bearer: [{ tokenFile: "a.token" }] });
    writeFileSync(join(folder, "a.token"), "first\n\nsecond\n");
    expect(await files.refresh()).toBe(true);
    for (const token of ["first", "second"]) expect(await isKnown(known, `Bearer ${token}`)).toBe(true);
    writeFileSync(join(folder, "a.token"), "second\n");
    expect(await files.refresh()).toBe(true);
    expect(await isKnown(known, "Bearer first")).toBe(false);
    expect(await isKnown(known, "Bearer second")).toBe(true);
  });

  it.each([
    ["pathTokens", "a/b", "cannot stand in a path: letters, digits and - . _ ~"],
    ["hostTokens", "UPPER", "cannot stand in a host name (clusterset-doh token --host-name)"],
    ["hostTokens", "a".repeat(64), "cannot stand in a host name"],
    ["bearer", "first\ntwo words", "holds more than one word"],
  ])("that hold nothing usable are reported: %s %j", async (kind, token, message) => {
    const folder = gateways.folder();
    writeFileSync(join(folder, "a.token"), token);
    await expect(asking(folder, { [kind]: [{ tokenFile: "a.token" }] })).rejects.toThrow(message);
  });

  it.each([
    ["", "is empty"],
    ["two\nlines", "holds more than one line"],
  ])("with the password %j are reported", async (password, message) => {
    const folder = gateways.folder();
    writeFileSync(join(folder, "a.password"), password);
    const basic = [{ username: "ci", passwordFile: "a.password" }];
    await expect(asking(folder, { basic })).rejects.toThrow(message);
  });
});
