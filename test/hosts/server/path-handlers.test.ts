import { mkdtempSync, rmSync } from "node:fs";
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_SERVER_LIMITS } from "../../../src/config/limits/server-limits.ts";
import { type NodeServer, startNodeServer } from "../../../src/hosts/node/server/node-server.ts";
import { keepSelfSigned } from "../../../src/hosts/node/tls/tls.ts";
import { authorityOf } from "../../access/authorities.ts";
import { base64url, FakeGateway, NOW, query } from "../../http/fake-gateway.ts";
import { openApp } from "../../http/open-app.ts";
import { sha256 } from "../../http/push/push-api.ts";

const DNS = "application/dns-message";
const asked = query("web.shop.svc.clusterset.test");

let folder: string;
const gateway = new FakeGateway();
const errors: Error[] = [];
const servers: NodeServer[] = [];
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "clusterset-doh-streams-"));
  const tls = await keepSelfSigned(folder, "localhost", Date.now());
  const app = openApp({
    gateway,
    clock: () => NOW,
    zones: [],
    version: "0",
    views: {
      credentials: authorityOf([{ clusterId: "cluster-a", tokenSha256: sha256("token-a") }]),
      trusted: [{ clusterId: "cluster-b", addresses: ["127.0.0.1/32"] }],
    },
    queryBytes: 512,
    onError: (error) => errors.push(error),
  });
  const paths = {
    at: (path: string) => (path === "/dns-query" ? app.handlerAt(path) : undefined),
    failed: app.failed,
  };
  for (const own of [{ paths }, {}]) {
    const server = await startNodeServer({
      listen: { host: "127.0.0.1", port: 0 },
      tls,
      fetch: (request, connection) => app.fetch(request, connection),
      ...own,
      limits: DEFAULT_SERVER_LIMITS,
    });
    servers.push(server);
    sessions.push(connect(`https://127.0.0.1:${server.address.port}`, { ca: tls.cert }));
  }
});
beforeEach(() => {
  gateway.asked.length = 0;
  errors.length = 0;
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  await Promise.all(servers.map((server) => server.stop(0)));
  rmSync(folder, { recursive: true });
});

interface Reply {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function ask(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: Uint8Array,
): Promise<Reply> {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const answered = new Promise<IncomingHttpHeaders>((resolve) => stream.once("response", resolve));
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  const { date, ...rest } = await answered;
  expect(date).toBeDefined();
  return { headers: rest, body: Buffer.concat(parts).toString("base64") };
}

const get = (path: string, headers: OutgoingHttpHeaders = {}): [OutgoingHttpHeaders] => [
  { ":path": path, ...headers },
];
const post = (
  body: Uint8Array,
  headers: OutgoingHttpHeaders = {},
  declared = true,
): [OutgoingHttpHeaders, Uint8Array] => [
  {
    ":path": "/dns-query",
    ":method": "POST",
    "content-type": DNS,
    ...(declared && { "content-length": body.length }),
    ...headers,
  },
  body,
];
const wire = `/dns-query?dns=${base64url(asked)}`;

describe("a stream that is answered itself", () => {
  it.each<[string, [OutgoingHttpHeaders, Uint8Array?]]>([
    ["GET", get(wire)],
    ["GET that names what it accepts", get(wire, { accept: DNS })],
    ["GET that accepts something else", get(wire, { accept: "text/html" })],
    ["GET of a web page of another origin", get(wire, { origin: "https://app.example.org" })],
    ["GET without a query", get("/dns-query")],
    ["GET of what is no base64url", get("/dns-query?dns=***")],
    ["GET of a query that is too long", get(`/dns-query?dns=${base64url(new Uint8Array(513))}`)],
    ["GET of JSON", get("/dns-query?name=web.shop.svc.clusterset.test", { accept: "application/dns-json" })],
    ["GET with a token", get(wire, { authorization: "Bearer token-a" })],
    ["GET with an unknown token", get(wire, { authorization: "Bearer token-z" })],
    ["GET at another path", get("/dns-query/")],
    ["HEAD", get(wire, { ":method": "HEAD" })],
    ["HEAD without a query", get("/dns-query", { ":method": "HEAD" })],
    ["OPTIONS", get("/dns-query", { ":method": "OPTIONS", origin: "https://app.example.org" })],
    ["DELETE", get("/dns-query", { ":method": "DELETE" })],
    ["POST", post(asked)],
    ["POST with a token", post(asked, { authorization: "Bearer token-a" })],
    ["POST without a length", post(asked, {}, false)],
    ["POST of nothing", post(new Uint8Array(0))],
    ["POST of what is no query", post(new Uint8Array(11))],
    ["POST of a query that is too long", post(new Uint8Array(513))],
    ["POST of a query beyond every limit", post(new Uint8Array(70_000))],
    ["POST of another type", post(asked, { "content-type": "text/plain" })],
    ["PUT with a body", post(asked, { ":method": "PUT" })],
  ])("is answered as the application answers: %s", async (_, [headers, body]) => {
    const [own, application] = await Promise.all(sessions.map((session) => ask(session, headers, body)));
    expect(own).toEqual(application);
  });

  it("passes on the query and the client", async () => {
    await ask(sessions[0]!, ...get(wire, { authorization: "Bearer token-a" }));
    await ask(sessions[0]!, ...post(asked));
    expect(gateway.asked).toEqual([
      { query: asked, view: "cluster-a" },
      { query: asked, view: undefined },
    ]);
  });

  it("takes a body in parts", async () => {
    const stream = sessions[0]!.request(post(asked)[0]);
    const answered = new Promise<IncomingHttpHeaders>((resolve) => stream.once("response", resolve));
    stream.write(asked.subarray(0, 5));
    await new Promise((resolve) => sessions[0]!.ping(resolve));
    stream.end(asked.subarray(5));
    expect((await answered)[":status"]).toBe(200);
    expect(gateway.asked[0]!.query).toEqual(asked);
  });

  it("survives a client that leaves in the middle of its body", async () => {
    const stream = sessions[0]!.request(post(asked)[0]);
    stream.on("error", () => {});
    stream.write(asked.subarray(0, 5));
    await new Promise((resolve) => sessions[0]!.ping(resolve));
    stream.close(8);
    await new Promise<void>((resolve) => stream.once("close", () => resolve()));
    expect((await ask(sessions[0]!, ...post(asked))).headers[":status"]).toBe(200);
    expect(gateway.asked).toHaveLength(1);
  });

  it.each(["GET", "POST"])("reports an error, and answers 500: %s", async (method) => {
    const answer = gateway.answer;
    gateway.answer = () => {
      throw new Error("planted");
    };
    try {
      const [own, application] = await Promise.all(
        sessions.map((session) =>
          method === "GET" ? ask(session, ...get(wire)) : ask(session, ...post(asked)),
        ),
      );
      expect(own).toEqual(application);
      expect(own!.headers[":status"]).toBe(500);
      expect(errors.map(({ message }) => message)).toEqual(["planted", "planted"]);
    } finally {
      gateway.answer = answer;
    }
  });
});
