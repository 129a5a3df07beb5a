import { X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { identityOf, readAlternativeNames } from "../../src/hosts/node/access/node-authority.ts";
import type { RunningGateway } from "../../src/hosts/node/gateway-host.ts";
import { NodeClient } from "../../src/hosts/node/server/requests.ts";
import { PushClient } from "../../src/worker/push-client.ts";
import { snapshotBody } from "../snapshot/lines/push-lines.ts";
import { emptySnapshot } from "../snapshot/worlds.ts";
import { KeptLogs } from "../worker/logs.ts";
import { makeAuthority, makeClient, type PemPair } from "./client-certificates.ts";
import { Gateways, send } from "./gateways.ts";

const EAST = "spiffe://example.org/cluster/east";
let authority: PemPair;
let east: PemPair;
let next: PemPair;
let west: PemPair;
let nobody: PemPair;
let stranger: PemPair;
beforeAll(async () => {
  authority = await makeAuthority("clusters");
  [east, next, west, nobody, stranger] = await Promise.all([
    makeClient(authority, "east", { uris: [EAST] }),
    makeClient(authority, "east", { uris: [EAST], dnsNames: ["other.example"] }),
    makeClient(authority, "west", { dnsNames: ["West.Example.org"] }),
    makeClient(authority, "east", { uris: [`${EAST}/x`], dnsNames: ["east"] }),
    makeClient(await makeAuthority("clusters"), "east", { uris: [EAST] }),
  ]);
});

const gateways = new Gateways();
let folder: string;
let gateway: RunningGateway;
beforeEach(async () => {
  folder = gateways.folder();
  writeFileSync(join(folder, "clients.crt"), authority.cert);
  const fingerprintSha256 = new X509Certificate(west.cert).fingerprint256;
  gateway = await gateways.start(folder, {
    tls: { clientCaFile: "clients.crt" },
    push: {
      credentials: [
        { clusterId: "east", certificate: { san: EAST } },
        { clusterId: "west", certificate: { san: "west.example.ORG", fingerprintSha256 } },
        { clusterId: "north", tokenSha256: "0f".repeat(32) },
      ],
    },
  });
});
afterEach(() => gateways.close());

const put = async (clusterId: string, sent: Parameters<typeof send>[2]) => {
  const lines = snapshotBody(emptySnapshot(clusterId));
  const path = `/api/v1/clusters/${clusterId}/snapshot`;
  const { status, json: read } = await send(gateway, path, { method: "PUT", lines, ...sent });
  return [status, read().code, read().message];
};

describe("a client certificate", () => {
  it("is refused from the second after its last one, on a connection that began before", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const certificate = new X509Certificate(east.cert);
      const connection = { authorized: true, getPeerX509Certificate: () => certificate };
      const client = new NodeClient(connection as unknown as TLSSocket, true);
      const validTo = Date.parse(certificate.validTo);
      vi.setSystemTime(validTo);
      expect([client.certificate, client.certificateIdentity?.uris]).toEqual(["verified", [EAST]]);
      vi.setSystemTime(validTo + 1000);
      expect([client.certificate, client.certificateIdentity]).toEqual(["refused", undefined]);
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([true, false])("is accepted for its own cluster only (HTTP/2: %s)", async (http2) => {
    expect((await put("east", { client: east, http2 }))[0]).toBe(200);
    expect((await put("east", { client: next, http2 }))[0]).toBe(200);
    expect((await put("west", { client: west, http2 }))[0]).toBe(200);
    for (const [method, path] of [
      ["PUT", "/snapshot"],
      ["PATCH", "/snapshot"],
      ["POST", "/lease"],
      ["DELETE", ""],
      ["GET", ""],
    ] as const) {
      const body = method === "GET" || method === "DELETE" ? {} : { json: emptySnapshot("west") };
      const sent = { method, client: east, http2, ...body };
      const { status, json } = await send(gateway, `/api/v1/clusters/west${path}`, sent);
      expect([method, status, json().code]).toEqual([method, 403, "OTHER_CLUSTER"]);
    }
  });

  it("is rejected with the next step if another authority issued it, if no cluster has it, or if it is absent", async () => {
    expect(await put("east", { client: stranger })).toEqual([
      401,
      "CERTIFICATE_REFUSED",
      expect.stringContaining("tls.clientCaFile"),
    ]);
    expect(await put("east", { client: nobody })).toEqual([
      403,
      "UNKNOWN_CERTIFICATE",
      expect.stringContaining(identityOf(new X509Certificate(nobody.cert)).fingerprintSha256),
    ]);
    expect((await put("east", {})).slice(0, 2)).toEqual([401, "TOKEN_REQUIRED"]);
  });

  it("does not make good a wrong token", async () => {
    expect((await put("east", { client: east, token: "guess" })).slice(0, 2)).toEqual([401, "UNKNOWN_TOKEN"]);
  });

  it("of a cluster registers no federations; another one of the authority does", async () => {
    const list = (client: PemPair) => send(gateway, "/federations", { client });
    expect((await list(east)).json().code).toBe("CERTIFICATE_OF_CLUSTER");
    expect((await list(nobody)).status).toBe(200);
  });

  it("needs the authority to be configured", async () => {
    const credentials = [{ clusterId: "east", certificate: { san: EAST } }];
    await expect(gateways.start(gateways.folder(), { push: { credentials } })).rejects.toThrow(
      /give tls\.clientCaFile/,
    );
  });

  it("is shown by the sync worker, and the next one once it is there", async () => {
    let shown = nobody;
    const client = new PushClient({
      gateway: gateway.url,
      ca: readFileSync(gateway.certificateFile!, "utf8"),
      clientCertificate: async () => shown,
      leaseSeconds: 60,
      logger: new KeptLogs(),
      isCurrent: () => true,
    });
    const { signal } = new AbortController();
    await expect(client.deliver(emptySnapshot("east"), signal)).rejects.toMatchObject({
      code: "UNKNOWN_CERTIFICATE",
      remedy: "person",
    });
    for (const one of [east, next]) {
      shown = one;
      await client.deliver(emptySnapshot("east"), signal);
    }
    await client.close();
  });
});

describe("the names in a certificate", () => {
  it("is read from its names", () => {
    expect(identityOf(new X509Certificate(next.cert))).toEqual({
      fingerprintSha256: new X509Certificate(next.cert).fingerprint256.replaceAll(":", "").toLowerCase(),
      commonName: "east",
      uris: [EAST],
      dnsNames: ["other.example"],
    });
    expect(identityOf(new X509Certificate(west.cert)).dnsNames).toEqual(["west.example.org"]);
    expect(identityOf(new X509Certificate(authority.cert)).uris).toEqual([]);
  });

  // The forms that Node gives since CVE-2021-44532.
  it.each<[string, unknown]>([
    ["", []],
    [
      "DNS:a.example, URI:spiffe://b",
      [
        ["DNS", "a.example"],
        ["URI", "spiffe://b"],
      ],
    ],
    [
      "IP Address:10.0.0.1, DNS:a",
      [
        ["IP Address", "10.0.0.1"],
        ["DNS", "a"],
      ],
    ],
    [
      'DNS:"a, URI:spiffe://b", DNS:c',
      [
        ["DNS", "a, URI:spiffe://b"],
        ["DNS", "c"],
      ],
    ],
    ['DNS:"a\\u0000b"', [["DNS", "a\u0000b"]]],
    ['DNS:a"b', undefined],
    ["DNS:a,URI:b", undefined],
    ["nonsense", undefined],
  ])("cannot be made up by a name that holds another one: %j", (text, names) => {
    expect(readAlternativeNames(text)).toEqual(names);
  });
});
