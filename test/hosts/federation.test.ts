import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { UsageError } from "../../src/config/values.ts";
import type { RunningGateway } from "../../src/hosts/node/gateway-host.ts";
import { decoded, queryFor } from "../forward/fake-upstreams.ts";
import { makeAuthority, makeClient, type PemPair } from "./client-certificates.ts";
import { Gateways, send } from "./gateways.ts";
import { received } from "./server/tls-fixture.ts";

let authority: PemPair;
let controller: PemPair;
let stranger: PemPair;
beforeAll(async () => {
  authority = await makeAuthority("federation control plane");
  controller = await makeClient(authority, "cluster-controller");
  stranger = await makeClient(await makeAuthority("somebody else"), "cluster-controller");
});

const gateways = new Gateways();
let folder: string;
let gateway: RunningGateway;
const withAuthority = { tls: { clientCaFile: "clients.crt" } };
async function startIn(given: string, config: object = {}): Promise<RunningGateway> {
  writeFileSync(join(given, "clients.crt"), authority.cert);
  return gateways.start(given, { ...withAuthority, ...config });
}
beforeEach(async () => {
  folder = gateways.folder();
  gateway = await startIn(folder);
});
afterEach(() => gateways.close());

const PATH = "/federations/myfederation";
const BODY = { nameservers: ["108.45.90.180", "108.180.64.128"] };
const REGISTERED = { name: "myfederation", ...BODY, zones: ["myfederation.svc.federation"] };
const SEVENTEEN = Array.from({ length: 17 }, (_, index) => `10.0.0.${index + 1}`);

describe("the registration of stub zones (federated service discovery, Initial Setup)", () => {
  it.each([true, false])("takes the specification's request and keeps it (HTTP/2: %s)", async (http2) => {
    const sent = { client: controller, http2 };
    const post = await send(gateway, PATH, { method: "POST", json: BODY, ...sent });
    expect([post.status, post.json()]).toEqual([201, REGISTERED]);
    expect(post.headers["cache-control"]).toBe("no-store");
    expect((await send(gateway, PATH, sent)).json()).toEqual(REGISTERED);
    const changed = { nameservers: ["https://dns.example.org/dns-query"] };
    const again = await send(gateway, PATH, { method: "POST", json: changed, ...sent });
    expect([again.status, again.json()]).toEqual([200, { ...REGISTERED, ...changed }]);
    expect((await send(gateway, "/federations", sent)).json()).toEqual({
      federations: [{ ...REGISTERED, ...changed }],
    });
    for (let time = 0; time < 2; time++)
      expect((await send(gateway, PATH, { method: "DELETE", ...sent })).status).toBe(204);
    const gone = await send(gateway, PATH, sent);
    expect([gone.status, gone.json().code]).toEqual([404, "UNKNOWN_FEDERATION"]);
  });

  it("is closed to clients without a certificate, and to those of another authority", async () => {
    for (const [client, code] of [
      [undefined, "CERTIFICATE_REQUIRED"],
      [stranger, "CERTIFICATE_REFUSED"],
    ] as const)
      for (const method of ["POST", "GET", "DELETE", "PUT"] as const)
        for (const http2 of [true, false]) {
          const sent = { method, http2, ...(client && { client }), ...(method === "POST" && { json: BODY }) };
          for (const path of method === "GET" ? [PATH, "/federations"] : [PATH]) {
            const { status, json: read } = await send(gateway, path, sent);
            expect([method, status, read().code]).toEqual([method, 403, code]);
          }
        }
    expect((await send(gateway, "/federations", { client: controller })).json().federations).toEqual([]);
    // Other requests need no certificate.
    for (const sent of [{}, { client: stranger }, { client: controller }])
      expect((await send(gateway, "/healthz", sent)).status).toBe(200);
  });

  it("is closed to a resumed session of a client that never showed a certificate", async () => {
    const first = await tlsSession();
    const second = await tlsSession(first.session);
    expect(second.reused).toBe(true);
    expect(second.answer).toMatch(/^HTTP\/1\.1 403 /);
    const known = await tlsSession(undefined, controller);
    const resumed = await tlsSession(known.session, controller);
    expect(resumed.reused).toBe(true);
    expect(resumed.answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  it.each<[string, string, unknown, string]>([
    ["a name of two labels", "/federations/my.federation", BODY, "name"],
    ["no name servers", PATH, { nameservers: [] }, "nameservers"],
    ["a host name", PATH, { nameservers: ["10.0.0.1", "dns.example.org"] }, "nameservers[1]"],
    ["one twice", PATH, { nameservers: ["10.0.0.1", "10.0.0.1"] }, "nameservers"],
    ["17", PATH, { nameservers: SEVENTEEN }, "nameservers"],
    ["an unknown field", PATH, { ...BODY, ttl: 5 }, "ttl"],
    ["another value", PATH, [BODY], ""],
  ])("refuses %s with 422, naming the field", async (_, path, json, field) => {
    const { status, json: read } = await send(gateway, path, { method: "POST", json, client: controller });
    expect([status, read()]).toMatchObject([
      422,
      { code: "INVALID_FEDERATION", details: { issues: [{ path: field }] } },
    ]);
  });

  it("rejects bodies that are not JSON or too long, and unknown methods", async () => {
    const post = (text: string) =>
      send(gateway, PATH, { method: "POST", message: Buffer.from(text), client: controller });
    expect((await post("{}")).status).toBe(415);
    const long = { nameservers: ["x".repeat(70_000)] };
    expect((await send(gateway, PATH, { method: "POST", json: long, client: controller })).status).toBe(413);
    const put = await send(gateway, PATH, { method: "PUT", client: controller });
    expect([put.status, put.headers.allow]).toEqual([405, "POST, GET, HEAD, DELETE"]);
  });

  it("survives a restart; a file that was damaged is named", async () => {
    await send(gateway, PATH, { method: "POST", json: BODY, client: controller });
    await gateways.stop(folder);
    gateway = await startIn(folder);
    expect((await send(gateway, PATH, { client: controller })).json()).toEqual(REGISTERED);
    await gateways.stop(folder);
    const file = join(folder, "state", "federations.json");
    for (const text of ["{", '{"formatVersion":1,"federations":[{"name":"x","nameservers":["y"]}]}']) {
      writeFileSync(file, text);
      await expect(startIn(folder)).rejects.toThrow(UsageError);
      await expect(startIn(folder)).rejects.toThrow(/federations\.json/);
    }
  });

  it("needs an authority: without one no client may register", async () => {
    await gateways.stop(folder);
    gateway = await gateways.start(folder, {});
    const { status } = await send(gateway, PATH, { method: "POST", json: BODY, client: controller });
    expect(status).toBe(403);
  });
});

it("queries are SERVFAIL, within bounds, if a stub zone points back to the gateway itself", async () => {
  const { url, certificateFile } = gateway;
  await gateways.stop(folder);
  const upstreams = [{ origin: url, caFile: certificateFile }];
  gateway = await startIn(folder, {
    listen: new URL(url).host,
    stub: { serverMilliseconds: 300, totalMilliseconds: 300, upstreams },
  });
  const json = { nameservers: [`${url}/dns-query`] };
  await send(gateway, PATH, { method: "POST", json, client: controller });
  const message = queryFor("myservice.myns.myfederation.svc.federation");
  const { bytes } = await send(gateway, "/dns-query", { method: "POST", message });
  expect(decoded(bytes).rcode).toBe("SERVFAIL");
});

/** One TLS 1.3 connection that asks for the list of federations: its answer, and its session to resume. */
async function tlsSession(session?: Buffer, client?: PemPair) {
  const { hostname: host, port } = new URL(gateway.url);
  const ca = readFileSync(gateway.certificateFile!);
  const socket = connect({
    host,
    port: Number(port),
    ca,
    minVersion: "TLSv1.3",
    ALPNProtocols: ["http/1.1"],
    ...(session !== undefined && { session }),
    ...client,
  });
  const seen: { session?: Buffer; reused?: boolean } = {};
  socket.on("session", (ticket) => {
    seen.session = ticket;
  });
  socket.on("secureConnect", () => {
    seen.reused = socket.isSessionReused();
  });
  socket.write("GET /federations HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  return { answer: String(await received(socket)), ...seen };
}
