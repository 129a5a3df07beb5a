import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { UsageError } from "../../src/config/values.ts";
import type { RunningGateway } from "../../src/hosts/node/gateway-host.ts";
import { decoded } from "../forward/fake-upstreams.ts";
import { makeAuthority, makeClient, type PemPair } from "./client-certificates.ts";
import { ask, Gateways, send } from "./gateways.ts";

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
const REGISTERED = {
  name: "myfederation",
  ...BODY,
  zones: ["myfederation.svc.federation"],
};

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
      for (const [method, path] of [
        ["POST", PATH],
        ["GET", PATH],
        ["DELETE", PATH],
        ["GET", "/federations"],
        ["PUT", PATH],
      ] as const)
        for (const http2 of [true, false]) {
          const sent = { method, http2, ...(client !== undefined && { client }) };
          const json = method === "POST" ? { json: BODY } : {};
          const { status, json: read } = await send(gateway, path, { ...sent, ...json });
          expect([method, status, read().code]).toEqual([method, 403, code]);
        }
    expect((await send(gateway, "/federations", { client: controller })).json().federations).toEqual([]);
  });

  it("changes nothing for other clients: queries need no certificate", async () => {
    for (const client of [undefined, stranger, controller])
      expect((await send(gateway, "/healthz", client === undefined ? {} : { client })).status).toBe(200);
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
    ["a name in upper case", "/federations/My", BODY, "name"],
    ["a name that is too long", `/federations/${"a".repeat(64)}`, BODY, "name"],
    ["no name servers", PATH, { nameservers: [] }, "nameservers"],
    ["no list", PATH, {}, "nameservers"],
    ["a host name", PATH, { nameservers: ["10.0.0.1", "dns.example.org"] }, "nameservers[1]"],
    ["clear HTTP", PATH, { nameservers: ["http://10.0.0.1/dns-query"] }, "nameservers[0]"],
    ["one twice", PATH, { nameservers: ["10.0.0.1", "10.0.0.1"] }, "nameservers"],
    [
      "17",
      PATH,
      { nameservers: Array.from({ length: 17 }, (_, index) => `10.0.0.${index + 1}`) },
      "nameservers",
    ],
    ["an unknown field", PATH, { ...BODY, ttl: 5 }, "ttl"],
    ["another value", PATH, [BODY], ""],
  ])("refuses %s with 422, naming the field", async (_, path, json, field) => {
    const response = await send(gateway, path, { method: "POST", json, client: controller });
    expect(response.status).toBe(422);
    const error = response.json();
    expect(error.code).toBe("INVALID_FEDERATION");
    expect(error.details.issues[0].path).toBe(field);
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

describe("queries below a stub zone", () => {
  const NAME = "myservice.myns.myfederation.svc.federation";
  const register = (...nameservers: string[]) =>
    send(gateway, PATH, { method: "POST", json: { nameservers }, client: controller });

  it("are SERVFAIL, within bounds, if a stub zone points back to the gateway itself", async () => {
    await gateways.stop(folder);
    gateway = await startIn(folder);
    const { url, certificateFile } = gateway;
    await gateways.stop(folder);
    gateway = await startIn(folder, {
      listen: new URL(url).host,
      stub: {
        serverMilliseconds: 300,
        totalMilliseconds: 300,
        upstreams: [{ origin: url, caFile: certificateFile }],
      },
    });
    await register(`${url}/dns-query`);
    expect(decoded(await ask(gateway, NAME)).rcode).toBe("SERVFAIL");
  });
});
/** One TLS 1.3 connection that asks for the list of federations: its answer, and its session to resume. */
function tlsSession(session?: Buffer, client?: PemPair) {
  const { hostname, port } = new URL(gateway.url);
  return new Promise<{ answer: string; session: Buffer; reused: boolean }>((resolve, reject) => {
    let ticket: Buffer | undefined;
    let answer = "";
    const socket: TLSSocket = connect({
      host: hostname,
      port: Number(port),
      ca: readFileSync(gateway.certificateFile!),
      minVersion: "TLSv1.3",
      ALPNProtocols: ["http/1.1"],
      ...(session !== undefined && { session }),
      ...client,
    });
    socket.on("session", (one) => {
      ticket = one;
    });
    socket.on("error", reject);
    socket.on("data", (part) => {
      answer += part;
    });
    socket.on("secureConnect", () => {
      socket.write("GET /federations HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    });
    socket.on("end", () => resolve({ answer, session: ticket!, reused: socket.isSessionReused() }));
  });
}
