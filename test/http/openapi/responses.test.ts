import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { VERSION } from "../../../src/assembly/stages.ts";
import type { RunningGateway } from "../../../src/hosts/node/gateway-host.ts";
import type { PartKind } from "../../../src/transfer/part-forms.ts";
import type { SentState } from "../../../src/transfer/transfer-state.ts";
import { sha256 } from "../../access/authorities.ts";
import { queryFor } from "../../forward/fake-upstreams.ts";
import { makeAuthority, makeClient, type PemPair } from "../../hosts/client-certificates.ts";
import { Gateways, type Sent, send } from "../../hosts/gateways.ts";
import { day, exporting, port } from "../../merge/fixtures.ts";
import { patchBody, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { document, operations, responseOf, validatorOf } from "./read-document.ts";

const gateways = new Gateways();
let gateway: RunningGateway;
let controller: PemPair;

/** What earlier responses named. */
let generation = 0;

beforeAll(async () => {
  const authority = await makeAuthority("federation control plane");
  controller = await makeClient(authority, "cluster-controller");
  const folder = gateways.folder();
  writeFileSync(join(folder, "clients.crt"), authority.cert);
  const clusters = ["east", "west"].map((clusterId) => ({ clusterId, tokenSha256: sha256(clusterId) }));
  gateway = await gateways.start(folder, {
    tls: { clientCaFile: "clients.crt" },
    access: { public: true },
    push: { credentials: clusters },
    transfer: { credentials: [{ tokenSha256: sha256("secondary") }] },
  });
});
afterAll(() => gateways.close());

const older = exporting("west", { exportedAt: day(1), ports: [port("http", 80)] });
const younger = exporting("east", { exportedAt: day(2), ports: [port("http", 8080)] });
const WEST = "/api/v1/clusters/west";
const EAST = "/api/v1/clusters/east/snapshot?leaseSeconds=90";
const JSON_TYPE = "application/json";
const IN_VIEW = "/clusters/east/dns-query";
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

/** Operation, status, path, request. They run in this order. */
type Case = [operation: string, status: number, path: string | (() => string), sent?: Sent | (() => Sent)];
const [PUT, PATCH, LEASE] = [`PUT ${CLUSTER}/snapshot`, `PATCH ${CLUSTER}/snapshot`, `POST ${CLUSTER}/lease`];
const [REGISTER, PARTNER] = ["POST /federations/{name}", "/federations/partner"];
const message = queryFor("web.shop.svc.clusterset.local");
const wire = Buffer.from(message).toString("base64url");
const CASES: readonly Case[] = [
  ["GET /readyz", 503, "/readyz"],
  [PUT, 200, `${WEST}/snapshot`, { ...west, lines: snapshotBody(older) }],
  [PUT, 200, EAST, { token: "east", lines: snapshotBody(younger) }],
  [PUT, 403, `${WEST}/snapshot`, { token: "east", lines: snapshotBody(older) }],
  [PUT, 401, `${WEST}/snapshot`, { lines: snapshotBody(older) }],
  [PUT, 400, `${WEST}/snapshot`, { ...west, lines: "{}\n" }],
  [PUT, 415, `${WEST}/snapshot`, { ...west, json: {} }],
  [PUT, 422, `${WEST}/snapshot?leaseSeconds=1`, { ...west, lines: snapshotBody(older) }],
  [PUT, 422, `${WEST}/snapshot`, { ...west, lines: snapshotBody({ ...older, namespaces: { "-": {} } }) }],
  [
    PATCH,
    200,
    () => `${WEST}/snapshot?baseGeneration=${generation}`,
    { ...west, lines: patchBody("west", {}) },
  ],
  [PATCH, 409, `${WEST}/snapshot?baseGeneration=1`, { ...west, lines: patchBody("west", {}) }],
  [LEASE, 200, `${WEST}/lease`, () => ({ ...west, json: { generation } })],
  [LEASE, 422, `${WEST}/lease`, { ...west, json: { generation: "1" } }],
  [`GET ${CLUSTER}`, 200, WEST, west],
  ["GET /dns-query", 200, `/dns-query?dns=${wire}`],
  ["GET /dns-query", 200, `/dns-query?${QUESTION}`, { headers: { accept: "application/dns-json" } }],
  ["GET /dns-query", 400, "/dns-query"],
  ["POST /dns-query", 200, "/dns-query", { message }],
  ["POST /dns-query", 415, "/dns-query", { json: {} }],
  ["GET /resolve", 200, `/resolve?${QUESTION}`],
  ["GET /resolve", 400, "/resolve"],
  ["GET /explain", 200, `/explain?${QUESTION}`],
  ["GET /explain", 200, "/explain?name=wbe.shop.svc.clusterset.local"],
  ["GET /explain", 406, "/explain?name=example.org", { headers: { accept: "text/html" } }],
  ["GET /clusters/{clusterId}/dns-query", 200, `${IN_VIEW}?${QUESTION}`, { headers: { accept: JSON_TYPE } }],
  ["POST /clusters/{clusterId}/dns-query", 200, IN_VIEW, { message }],
  ["GET /clusters/{clusterId}/resolve", 200, `/clusters/east/resolve?${QUESTION}`],
  ["GET /clusters/{clusterId}/resolve", 404, `/clusters/nobody/resolve?${QUESTION}`],
  ["GET /clusters/{clusterId}/explain", 200, `/clusters/east/explain?${QUESTION}`],
  ["GET /status", 200, "/status"],
  ["GET /healthz", 200, "/healthz"],
  ["GET /readyz", 200, "/readyz"],
  ["GET /metrics", 200, "/metrics"],
  ["GET /api/v1/openapi.json", 200, "/api/v1/openapi.json"],
  [`GET ${TRANSFER}/state`, 200, `${TRANSFER}/state`, secondary],
  [`GET ${TRANSFER}/state`, 404, `${TRANSFER}/state?scope=none`, secondary],
  [`GET ${TRANSFER}/state`, 401, `${TRANSFER}/state`],
  ...PARTS.map(([kind, query]): Case => {
    const path = `${TRANSFER}/${kind}`;
    return [`GET ${path}`, 200, () => `${path}?${query()}&epoch=${state?.epoch}`, secondary];
  }),
  [`GET ${TRANSFER}/key`, 404, `${TRANSFER}/key?v=0-0`, secondary],
  ["GET /federations", 403, "/federations"],
  [REGISTER, 201, PARTNER, () => ({ ...certified(), json: { nameservers: ["192.0.2.1"] } })],
  [REGISTER, 422, PARTNER, () => ({ ...certified(), json: {} })],
  ["GET /federations", 200, "/federations", certified],
  ["GET /federations/{name}", 200, PARTNER, certified],
  ["GET /federations/{name}", 404, "/federations/nobody", certified],
  ["DELETE /federations/{name}", 204, PARTNER, certified],
  [`DELETE ${CLUSTER}`, 204, WEST, west],
  [`GET ${CLUSTER}`, 404, WEST, west],
];

it.each(CASES.map((one, index) => [index + 1, one[0], one[1], one] as const))(
  "%i: %s returns %i as the document says",
  async (_, operation, status, [, , at, given = {}]) => {
    const path = typeof at === "string" ? at : at();
    const sent = typeof given === "function" ? given() : given;
    const [method] = operation.split(" ") as [NonNullable<Sent["method"]>];
    const response = await send(gateway, path, { method, ...sent });
    expect([response.status, response.bytes.toString()]).toEqual([status, expect.anything()]);
    const documented = responseOf(operation, status);
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
      if (path.includes("/west/snapshot") && acknowledged !== undefined) generation = acknowledged;
      if (body.epoch !== undefined) state = body;
    }
  },
);

it("returns a success of every operation, so that none is unseen but a stream", () => {
  const seen = new Set(CASES.filter(([, status]) => status < 300).map(([operation]) => operation));
  expect([...operations.keys()].filter((operation) => !seen.has(operation))).toEqual([
    // A stream does not end within a request; test/http/push/desired/desired.test.ts reads it.
    "GET /api/v1/clusters/{clusterId}/desired",
  ]);
});

it("serves the document itself, also without a credential", async () => {
  const served = await send(gateway, "/api/v1/openapi.json");
  expect(served.json()).toEqual({ ...document, info: { ...document.info, version: VERSION } });
  expect(served.headers["x-content-type-options"]).toBe("nosniff");
  expect((await send(gateway, "/api/v1/openapi.json", { method: "POST" })).status).toBe(405);
});
