import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { VERSION } from "../../../src/assembly/stages.ts";
import type { RunningGateway } from "../../../src/hosts/node/gateway-host.ts";
import type { PartKind } from "../../../src/transfer/part-forms.ts";
import type { SentState } from "../../../src/transfer/transfer-state.ts";
import { queryFor } from "../../forward/fake-upstreams.ts";
import { makeAuthority, makeClient, type PemPair } from "../../hosts/client-certificates.ts";
import { Gateways, type Sent, send } from "../../hosts/gateways.ts";
import { day, exporting, port } from "../../merge/fixtures.ts";
import { patchBody, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { document, operations, validatorOf } from "./read-document.ts";

const gateways = new Gateways();
let gateway: RunningGateway;
let controller: PemPair;
const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");

/** What earlier responses named. */
let generation = 0;

beforeAll(async () => {
  const authority = await makeAuthority("federation control plane");
  controller = await makeClient(authority, "cluster-controller");
  const folder = gateways.folder();
  writeFileSync(join(folder, "clients.crt"), authority.cert);
  const clusters = ["east", "west"].map((clusterId) => ({ clusterId, tokenSha256: hashOf(clusterId) }));
  gateway = await gateways.start(folder, {
    tls: { clientCaFile: "clients.crt" },
    access: { public: true },
    push: { credentials: clusters },
    transfer: { credentials: [{ tokenSha256: hashOf("secondary") }] },
  });
});
afterAll(() => gateways.close());

const older = exporting("west", { exportedAt: day(1), ports: [port("http", 80)] });
const younger = exporting("east", { exportedAt: day(2), ports: [port("http", 8080)] });
const QUESTION = "name=web.shop.svc.clusterset.local&type=SRV";
const CLUSTER = "/api/v1/clusters/{clusterId}";
const TRANSFER = "/api/v1/transfer";
const west = { token: "west" };
const secondary = { token: "secondary" };
const certified = () => ({ client: controller });

/** The newest state of a transfer. */
let state: SentState | undefined;
const base = () => `v=${state!.base.join("-")}`;
const UNIT = "zone=clusterset&namespace=shop&label=web";
const PARTS: readonly (readonly [kind: PartKind, query: () => string])[] = [
  ["world", () => `v=${state!.world}`],
  ["changes", () => `from=${state!.base.join("-")}&${base()}`],
  ["key", () => `${UNIT}&${base()}`],
  ["reverse", () => `${UNIT}&${base()}`],
  ["names", () => `list=labels&of=shop&prefix=&${base()}`],
  ["below", () => `tree=clusterset&namespace=shop&name=shop.svc&${base()}`],
  ["claims", () => `bucket=0a00000&${base()}`],
  ["services", () => `words=web&view=&offset=0&most=10&${base()}`],
];

/** Operation, path, request, status. They run in this order. */
type Case = [operation: string, path: () => string, request: () => Sent, status: number];
const CASES: readonly Case[] = [
  ["GET /readyz", () => "/readyz", () => ({}), 503],
  [
    `PUT ${CLUSTER}/snapshot`,
    () => "/api/v1/clusters/west/snapshot",
    () => ({ ...west, lines: snapshotBody(older) }),
    200,
  ],
  [
    `PUT ${CLUSTER}/snapshot`,
    () => "/api/v1/clusters/east/snapshot?leaseSeconds=90",
    () => ({ token: "east", lines: snapshotBody(younger) }),
    200,
  ],
  [
    `PUT ${CLUSTER}/snapshot`,
    () => "/api/v1/clusters/west/snapshot",
    () => ({ token: "east", lines: snapshotBody(older) }),
    403,
  ],
  [
    `PUT ${CLUSTER}/snapshot`,
    () => "/api/v1/clusters/west/snapshot",
    () => ({ lines: snapshotBody(older) }),
    401,
  ],
  [
    `PUT ${CLUSTER}/snapshot`,
    () => "/api/v1/clusters/west/snapshot",
    () => ({ ...west, lines: "{}\n" }),
    400,
  ],
  [`PUT ${CLUSTER}/snapshot`, () => "/api/v1/clusters/west/snapshot", () => ({ ...west, json: {} }), 415],
  [
    `PUT ${CLUSTER}/snapshot`,
    () => "/api/v1/clusters/west/snapshot?leaseSeconds=1",
    () => ({ ...west, lines: snapshotBody(older) }),
    422,
  ],
  [
    `PUT ${CLUSTER}/snapshot`,
    () => "/api/v1/clusters/west/snapshot",
    () => ({ ...west, lines: snapshotBody({ ...older, namespaces: { "-": {} } }) }),
    422,
  ],
  [
    `PATCH ${CLUSTER}/snapshot`,
    () => `/api/v1/clusters/west/snapshot?baseGeneration=${generation}`,
    () => ({ ...west, lines: patchBody("west", { namespaces: { more: {} } }) }),
    200,
  ],
  [
    `PATCH ${CLUSTER}/snapshot`,
    () => "/api/v1/clusters/west/snapshot?baseGeneration=1",
    () => ({ ...west, lines: patchBody("west", {}) }),
    409,
  ],
  [
    `POST ${CLUSTER}/lease`,
    () => "/api/v1/clusters/west/lease",
    () => ({ ...west, json: { generation } }),
    200,
  ],
  [
    `POST ${CLUSTER}/lease`,
    () => "/api/v1/clusters/west/lease",
    () => ({ ...west, json: { generation: "1" } }),
    422,
  ],
  [`GET ${CLUSTER}`, () => "/api/v1/clusters/west", () => west, 200],
  [
    "GET /dns-query",
    () => `/dns-query?dns=${Buffer.from(queryFor("web.shop.svc.clusterset.local")).toString("base64url")}`,
    () => ({}),
    200,
  ],
  [
    "GET /dns-query",
    () => `/dns-query?${QUESTION}`,
    () => ({ headers: { accept: "application/dns-json" } }),
    200,
  ],
  ["GET /dns-query", () => "/dns-query", () => ({}), 400],
  [
    "POST /dns-query",
    () => "/dns-query",
    () => ({ message: queryFor("web.shop.svc.clusterset.local") }),
    200,
  ],
  ["POST /dns-query", () => "/dns-query", () => ({ json: {} }), 415],
  ["GET /resolve", () => `/resolve?${QUESTION}`, () => ({}), 200],
  ["GET /resolve", () => "/resolve", () => ({}), 400],
  ["GET /explain", () => `/explain?${QUESTION}`, () => ({}), 200],
  ["GET /explain", () => "/explain?name=wbe.shop.svc.clusterset.local", () => ({}), 200],
  ["GET /explain", () => "/explain?name=example.org", () => ({ headers: { accept: "text/html" } }), 406],
  [
    "GET /clusters/{clusterId}/dns-query",
    () => `/clusters/east/dns-query?${QUESTION}`,
    () => ({ headers: { accept: "application/json" } }),
    200,
  ],
  [
    "POST /clusters/{clusterId}/dns-query",
    () => "/clusters/east/dns-query",
    () => ({ message: queryFor("web.shop.svc.clusterset.local") }),
    200,
  ],
  ["GET /clusters/{clusterId}/resolve", () => `/clusters/east/resolve?${QUESTION}`, () => ({}), 200],
  ["GET /clusters/{clusterId}/resolve", () => `/clusters/nobody/resolve?${QUESTION}`, () => ({}), 404],
  ["GET /clusters/{clusterId}/explain", () => `/clusters/east/explain?${QUESTION}`, () => ({}), 200],
  ["GET /status", () => "/status", () => ({}), 200],
  ["GET /healthz", () => "/healthz", () => ({}), 200],
  ["GET /readyz", () => "/readyz", () => ({}), 200],
  ["GET /metrics", () => "/metrics", () => ({}), 200],
  ["GET /api/v1/openapi.json", () => "/api/v1/openapi.json", () => ({}), 200],
  [`GET ${TRANSFER}/state`, () => `${TRANSFER}/state`, () => secondary, 200],
  [`GET ${TRANSFER}/state`, () => `${TRANSFER}/state?scope=none`, () => secondary, 404],
  [`GET ${TRANSFER}/state`, () => `${TRANSFER}/state`, () => ({}), 401],
  ...PARTS.map(
    ([kind, query]): Case => [
      `GET ${TRANSFER}/${kind}`,
      () => `${TRANSFER}/${kind}?${query()}&epoch=${state?.epoch}`,
      () => secondary,
      200,
    ],
  ),
  [`GET ${TRANSFER}/key`, () => `${TRANSFER}/key?v=0-0`, () => secondary, 404],
  ["GET /federations", () => "/federations", () => ({}), 403],
  [
    "POST /federations/{name}",
    () => "/federations/partner",
    () => ({ ...certified(), method: "POST", json: { nameservers: ["192.0.2.1"] } }),
    201,
  ],
  [
    "POST /federations/{name}",
    () => "/federations/partner",
    () => ({ ...certified(), method: "POST", json: {} }),
    422,
  ],
  ["GET /federations", () => "/federations", certified, 200],
  ["GET /federations/{name}", () => "/federations/partner", certified, 200],
  ["GET /federations/{name}", () => "/federations/nobody", certified, 404],
  ["DELETE /federations/{name}", () => "/federations/partner", certified, 204],
  [`DELETE ${CLUSTER}`, () => "/api/v1/clusters/west", () => west, 204],
  [`GET ${CLUSTER}`, () => "/api/v1/clusters/west", () => west, 404],
];

it.each(CASES.map((one, index) => [index + 1, one[0], one[3], one] as const))(
  "%i: %s returns %i as the document says",
  async (_, operation, status, [, path, request]) => {
    const [method] = operation.split(" ") as [NonNullable<Sent["method"]>];
    const response = await send(gateway, path(), { method, ...request() });
    expect([response.status, response.bytes.toString()]).toEqual([status, expect.anything()]);
    const documented = operations.get(operation)!.responses[status];
    expect(documented, "the status is documented").toBeDefined();
    const type = String(response.headers["content-type"] ?? "").split(";")[0]!;
    if (response.bytes.length === 0) return;
    expect(Object.keys(documented!.content ?? {})).toContain(type);
    const { schema } = documented!.content![type]!;
    if (type.endsWith("json")) {
      const check = validatorOf(schema!);
      expect([check(response.json()), check.errors]).toEqual([true, null]);
      const body = response.json();
      const { generation: acknowledged } = body;
      if (path().includes("/west/snapshot") && acknowledged !== undefined) generation = acknowledged;
      if (body.epoch !== undefined) state = body;
    }
  },
);

it("returns a success of every operation, so that none is unseen but a stream", () => {
  const seen = new Set(CASES.filter(([, , , status]) => status < 300).map(([operation]) => operation));
  expect([...operations.keys()].filter((operation) => !seen.has(operation))).toEqual([
    // A stream does not end within a request; test/http/push/desired/desired.test.ts reads it.
    "GET /api/v1/clusters/{clusterId}/desired",
  ]);
});

it("serves the document itself, also without a credential, and for GET and HEAD alone", async () => {
  const served = await send(gateway, "/api/v1/openapi.json");
  expect(served.json()).toEqual({ ...document, info: { ...document.info, version: VERSION } });
  expect(served.headers["x-content-type-options"]).toBe("nosniff");
  expect((await send(gateway, "/api/v1/openapi.json", { method: "HEAD" })).status).toBe(200);
  const post = await send(gateway, "/api/v1/openapi.json", { method: "POST" });
  expect([post.status, post.headers.allow]).toEqual([405, "GET, HEAD"]);
});
