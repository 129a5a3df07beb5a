import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { queryFor } from "../../forward/fake-upstreams.ts";
import { until } from "../../until.ts";
import { type GatewayOptions, type GatewayProcess, startGateway } from "../harness/processes.ts";
import { Connection, type Got, MANY, openMany } from "./connections.ts";

const QUERY = `/dns-query?dns=${Buffer.from(queryFor("web.shop.svc.clusterset.local")).toString("base64url")}`;

async function start(config: GatewayOptions["config"]): Promise<GatewayProcess> {
  const gateway = await startGateway({ config: { threads: 2, access: { public: true }, ...config } });
  onTestFinished(async () => void (await gateway.stop()));
  return gateway;
}

/** Connections that both threads have some of. */
async function openBoth(gateway: GatewayProcess): Promise<Connection[]> {
  const connections = await openMany(gateway);
  onTestFinished(() => {
    for (const connection of connections) connection.close();
  });
  return connections;
}

/** The sum of a metric's series, each of which must be there once. */
function sumIn(text: string, metric: string): number {
  const lines = text.split("\n").filter((line) => line.startsWith(metric));
  const series = lines.map((line) => line.slice(0, line.lastIndexOf(" ")));
  expect(new Set(series).size).toBe(series.length);
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

it("a client has one rate, whichever threads have its connections and answer its requests", async () => {
  const burst = 100;
  const gateway = await start({ clients: { exempt: [], requestsPerSecond: 1, requestBurst: burst } });
  const began = performance.now();
  const connections = await openBoth(gateway);
  const requests = connections.flatMap((connection) =>
    Array.from({ length: 10 }, () => connection.get(QUERY)),
  );
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  const answered = statuses.filter((status) => status !== 429).length;
  const filled = Math.ceil((performance.now() - began) / 1000);
  expect(answered).toBeGreaterThan(burst - 10);
  expect(answered).toBeLessThanOrEqual(burst + filled);

  // Requests that the main thread answers take from the same rate, and what threads reject is counted once.
  const pages = await Promise.all(connections.map((connection) => connection.get("/")));
  expect(pages.map(({ status }) => status)).toContain(429);
  const rejected = [...statuses, ...pages.map(({ status }) => status)].filter((status) => status === 429);
  let metrics: Got | undefined;
  await until(async () => {
    metrics = await connections[0]!.get("/metrics");
    if (metrics.status === 429) rejected.push(429);
    expect(metrics.status).toBe(200);
  });
  const series = 'clusterset_doh_limited_total{limit="clients.requestsPerSecond"}';
  expect(sumIn(metrics!.body.toString(), series)).toBe(rejected.length);
});

it("a client has one number of connections, whichever threads have them", async () => {
  const most = 20;
  const gateway = await start({
    clients: { exempt: ["127.0.0.2/32"], connections: most, connectionsPerSecond: 0 },
    limits: { handshakeSeconds: 600, requestSeconds: 600 },
  });
  // Another client has limits of its own.
  const other = await Connection.open(gateway, "127.0.0.2");
  onTestFinished(() => other.close());
  const metrics = async () => (await other.get("/metrics")).body.toString();
  // That of the start has closed.
  await until(async () => expect(sumIn(await metrics(), "clusterset_doh_thread_connections")).toBe(1));
  const port = Number(new URL(gateway.url).port);
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let index = 0; index < MANY; index++) {
    const socket = connectTcp({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    // Only a socket that is read from sees its end.
    socket.resume();
    sockets.push(socket);
    await once(socket, "connect");
  }
  const open = () => sockets.filter((socket) => !socket.destroyed && !socket.readableEnded).length;
  await until(() => expect(open()).toBe(most));

  const series = 'clusterset_doh_limited_total{limit="clients.connections"}';
  // A thread that is late has its counts of before.
  await until(async () => expect(sumIn(await metrics(), series)).toBe(MANY - most));
  expect(open()).toBe(most);
});
