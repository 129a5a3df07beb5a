import { X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
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
    onTestFinished(() => void vi.useRealTimers());
    const certificate = new X509Certificate(east.cert);
    const connection = { authorized: true, getPeerX509Certificate: () => certificate };
    const client = new NodeClient(connection as unknown as TLSSocket, true);
    const validTo = Date.parse(certificate.validTo);
    vi.setSystemTime(validTo);
    expect([client.certificate, client.certificateIdentity?.uris]).toEqual(["verified", [EAST]]);
    vi.setSystemTime(validTo + 1000);
    expect([client.certificate, client.certificateIdentity]).toEqual(["refused", undefined]);
  });

  it.each([true, false])("is accepted for its own cluster only (HTTP/2: %s)", async (http2) => {
    expect((await put("east", { client: east, http2 }))[0]).toBe(200);
    expect((await put("east", { client: next, http2 }))[0]).toBe(200);
    expect((await put("west", { client: west, http2 }))[0]).toBe(200);
    expect((await put("west", { client: east, http2 })).slice(0, 2)).toEqual([403, "OTHER_CLUSTER"]);
  });

  it("is rejected with the next step if another authority issued it, if no cluster has it, or if it is absent", async () => {
    const authority = expect.stringContaining("tls.clientCaFile");
    expect(await put("east", { client: stranger })).toEqual([401, "CERTIFICATE_REFUSED", authority]);
    const { fingerprintSha256 } = identityOf(new X509Certificate(nobody.cert));
    const own = expect.stringContaining(fingerprintSha256);
    expect(await put("east", { client: nobody })).toEqual([403, "UNKNOWN_CERTIFICATE", own]);
    expect((await put("east", {})).slice(0, 2)).toEqual([401, "TOKEN_REQUIRED"]);
    // It does not make good a wrong token.
    expect((await put("east", { client: east, token: "guess" })).slice(0, 2)).toEqual([401, "UNKNOWN_TOKEN"]);
  });

  it("of a cluster registers no federations; another one of the authority does", async () => {
    const list = (client: PemPair) => send(gateway, "/federations", { client });
    expect((await list(east)).json().code).toBe("CERTIFICATE_OF_CLUSTER");
    expect((await list(nobody)).status).toBe(200);
  });

  it.each([1, 2])(
    "that another authority with the same name issued keeps its connection, whatever it requests: threads: %d",
    async (threads) => {
      const folder = gateways.folder();
      writeFileSync(join(folder, "clients.crt"), authority.cert);
      const credentials = [{ clusterId: "east", certificate: { san: EAST } }];
      const tls = { clientCaFile: "clients.crt" };
      const config = { threads, access: { public: true }, tls, push: { credentials } };
      const other = await gateways.start(folder, config);
      for (const http2 of [true, false])
        for (let round = 0; round < 5; round++) {
          const sent = { client: stranger, http2 };
          expect((await send(other, "/healthz", sent)).status).toBe(200);
          const cluster = await send(other, "/api/v1/clusters/east", sent);
          expect([cluster.status, cluster.json().code]).toEqual([401, "CERTIFICATE_REFUSED"]);
        }
    },
  );

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

// The forms that Node gives since CVE-2021-44532.
it.each<[string, string[] | undefined]>([
  ["", []],
  ["DNS:a.example, URI:spiffe://b", ["DNS a.example", "URI spiffe://b"]],
  ["IP Address:10.0.0.1, DNS:a", ["IP Address 10.0.0.1", "DNS a"]],
  ['DNS:"a, URI:spiffe://b", DNS:c', ["DNS a, URI:spiffe://b", "DNS c"]],
  ['DNS:"a\\u0000b"', ["DNS a\u0000b"]],
  ['DNS:a"b', undefined],
  ["DNS:a,URI:b", undefined],
  ["nonsense", undefined],
])("the names in a certificate cannot be made up by a name that holds another one: %j", (text, names) => {
  expect(readAlternativeNames(text)?.map((pair) => pair.join(" "))).toEqual(names);
});
