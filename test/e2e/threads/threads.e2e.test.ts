import { once } from "node:events";
import { createServer } from "node:net";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LINES_TYPE, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { emptySnapshot, headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { type Connection, openMany } from "./connections.ts";

const NAME = "web.shop.svc.clusterset.local";
const THREADS = 2;

let gateway: GatewayProcess;
let connections: Connection[];
beforeAll(async () => {
  gateway = await startGateway({
    clusters: ["west"],
    config: { threads: THREADS, access: { public: true } },
  });
  connections = await openMany(gateway);
});
afterAll(async () => {
  for (const connection of connections) connection.close();
  await gateway.stop();
});

function push(connection: Connection, endpoints: number) {
  const headers = {
    ":method": "PUT",
    authorization: `Bearer ${gateway.tokenFor("west")}`,
    "content-type": LINES_TYPE,
  };
  const body = snapshotBody(shopSnapshot("west", endpoints));
  return connection.get("/api/v1/clusters/west/snapshot", headers, body);
}

describe("a gateway with two threads", () => {
  it("answers from a push on every connection, as soon as any connection has its acknowledgement", async () => {
    for (let endpoints = 1; endpoints <= 12; endpoints++) {
      const pusher = connections[endpoints % connections.length]!;
      expect((await push(pusher, endpoints)).status).toBe(200);
      const all = await Promise.all(connections.map((connection) => connection.addresses(NAME)));
      for (const addresses of all) expect(addresses).toHaveLength(endpoints);
    }
  });

  it("answers pages, metrics, readiness, explanations and errors on every connection alike", async () => {
    await push(connections[0]!, 2);
    for (const path of [
      "/",
      "/metrics",
      "/readyz",
      `/explain?name=${NAME}&type=A`,
      "/nothing-here",
      "/api/v1/nothing",
    ]) {
      const got = await Promise.all(connections.map((connection) => connection.get(path)));
      expect(new Set(got.map(({ status }) => status)).size, path).toBe(1);
      for (const { body } of got) expect(body.length, path).toBeGreaterThan(0);
    }
    const explained = await connections[0]!.get(`/explain?name=${NAME}&type=A`);
    expect(explained.body.toString()).toContain("west");
  });

  it("says in JSON on every connection when each cluster was last seen", async () => {
    await push(connections[0]!, 2);
    for (const connection of connections) {
      const { body } = await connection.get(`/resolve?name=${NAME}&type=A`, { accept: "application/json" });
      expect(JSON.parse(body.toString()).Comment).toMatch(
        /^seen from outside; 1 of 1 cluster live; west last seen \d+ s ago$/,
      );
    }
  });

  it("passes on a body of some megabytes, and rejects one without a token on every connection", async () => {
    const exports = Object.fromEntries(
      Array.from({ length: 400 }, (_, index) => [`shop/web-${index}`, headlessExport(50)]),
    );
    const body = snapshotBody({ ...emptySnapshot("west"), namespaces: { shop: {} }, exports });
    expect(body.length).toBeGreaterThan(1_000_000);
    const headers = { ":method": "PUT", "content-type": LINES_TYPE };
    const authorization = `Bearer ${gateway.tokenFor("west")}`;
    const path = "/api/v1/clusters/west/snapshot";
    for (const connection of connections) {
      const { status, body: problem } = await connection.get(path, headers, "{}\n");
      expect([status, JSON.parse(problem.toString()).code]).toEqual([401, expect.any(String)]);
    }
    expect((await connections[0]!.get(path, { ...headers, authorization }, body)).status).toBe(200);
    for (const connection of connections)
      expect(await connection.addresses("web-399.shop.svc.clusterset.local")).toHaveLength(50);
  });

  it("has all queries in its metrics, whichever thread a scrape or a query reached", async () => {
    const count = async (connection: Connection) => {
      const text = (await connection.get("/metrics")).body.toString();
      const series = text.matchAll(/^clusterset_doh_queries_total\{[^}]*\} (\d+)$/gm);
      const threads = [...text.matchAll(/^clusterset_doh_thread_connections\{thread="\d"\} (\d+)$/gm)];
      const total = Array.from(series, ([, value]) => Number(value)).reduce((sum, value) => sum + value, 0);
      return { total, open: threads.map(([, value]) => Number(value)) };
    };
    const before = await count(connections[0]!);
    await Promise.all(connections.map((connection) => connection.addresses(NAME)));
    for (const connection of connections.slice(0, 4)) {
      const { total, open } = await count(connection);
      expect(total - before.total).toBe(connections.length);
      expect(open).toHaveLength(THREADS);
      // Those of this test, and perhaps some that are about to close.
      expect(open.reduce((sum, value) => sum + value, 0)).toBeGreaterThanOrEqual(connections.length);
      expect(Math.min(...open)).toBeGreaterThan(0);
    }
  });

  it("resumes a TLS session whichever thread gets the next connection", async () => {
    const port = Number(new URL(gateway.url).port);
    const options = { port, host: "127.0.0.1", ca: gateway.ca, ALPNProtocols: ["h2"] };
    const first = connect(options);
    const [session] = (await once(first, "session")) as [Buffer];
    first.destroy();
    for (let time = 0; time < 20; time++) {
      const again = connect({ ...options, session });
      await once(again, "secureConnect");
      expect(again.isSessionReused()).toBe(true);
      again.destroy();
    }
  });

  it("does not start beside another program that listens on its port", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    await expect(startGateway({ port, config: { threads: THREADS } })).rejects.toThrow(/is taken/);
    other.close();
  });
});
