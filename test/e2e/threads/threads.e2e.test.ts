import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { connect as connectTcp, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { extendedErrors } from "../../resolve/extended-errors.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { until } from "../../until.ts";
import { eventually } from "../harness/answers.ts";
import { Connection, type Got, MANY, openMany } from "../harness/connections.ts";
import { type GatewayOptions, type GatewayProcess, startGateway } from "../harness/processes.ts";
import { queryBytes } from "../servers/dns.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const NAME = "web.shop.svc.clusterset.local";
const THREADS = 2;
/** RFC 8914 section 4.4. */
const STALE_ANSWER = 3;
const PRELOAD = `--import=${fileURLToPath(new URL("thread-faults.ts", import.meta.url))}`;
/** Enough for every thread of a gateway, and soon filled by one. In MiB. */
const HEAP = 192;

function start({ config, ...more }: GatewayOptions = {}): Promise<GatewayProcess> {
  const shared = { threads: THREADS, access: { public: true }, ...config };
  return startGateway({ clusters: ["west"], leaseSeconds: 600, ...more, config: shared });
}

/** A gateway of one test. */
async function startForTest(options: GatewayOptions): Promise<GatewayProcess> {
  const gateway = await start(options);
  onTestFinished(async () => void (await gateway.stop()));
  return gateway;
}

/** Connections that both threads have some of, until the test has ended. */
async function openForTest(gateway: GatewayProcess): Promise<Connection[]> {
  const connections = await openMany(gateway);
  onTestFinished(() => {
    for (const connection of connections) connection.close();
  });
  return connections;
}

async function push(gateway: GatewayProcess, endpoints: number): Promise<void> {
  expect((await gateway.push(shopSnapshot("west", endpoints))).status).toBe(200);
}

/** The values of a metric's series, each of which is there once. */
function valuesIn(text: string, metric: string): number[] {
  const lines = text.split("\n").filter((line) => line.startsWith(metric));
  const series = lines.map((line) => line.slice(0, line.lastIndexOf(" ")));
  expect(new Set(series).size).toBe(series.length);
  return lines.map((line) => Number(line.slice(line.lastIndexOf(" "))));
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const OPEN = "clusterset_doh_thread_connections{";
const metricsOn = async (connection: Connection) => (await connection.get("/metrics")).body.toString();

describe("a gateway with two threads", () => {
  let gateway: GatewayProcess;
  let connections: Connection[];
  beforeAll(async () => {
    gateway = await start();
    connections = await openMany(gateway);
  });
  afterAll(async () => {
    for (const connection of connections) connection.close();
    await gateway.stop();
  });

  it("answers from a push on every connection, as soon as its acknowledgement is there", async () => {
    for (let endpoints = 1; endpoints <= 12; endpoints++) {
      await push(gateway, endpoints);
      const all = await Promise.all(connections.map((connection) => connection.addresses(NAME)));
      for (const addresses of all) expect(addresses).toHaveLength(endpoints);
    }
  });

  it("answers pages, metrics, explanations and JSON on every connection alike", async () => {
    await push(gateway, 2);
    for (const path of ["/", "/metrics", `/explain?name=${NAME}&type=A`, "/api/v1/nothing"]) {
      const got = await Promise.all(connections.map((connection) => connection.get(path)));
      expect(new Set(got.map(({ status }) => status)).size, path).toBe(1);
      for (const { body } of got) expect(body.length, path).toBeGreaterThan(0);
    }
    for (const connection of connections) {
      const { body } = await connection.get(`/resolve?name=${NAME}&type=A`, { accept: "application/json" });
      expect(JSON.parse(body.toString()).Comment).toMatch(
        /^seen from outside; 1 of 1 cluster live; west last seen \d+ s ago$/,
      );
    }
  });

  it("has all queries in its metrics, whichever thread a scrape or a query reached", async () => {
    const count = (text: string) => sum(valuesIn(text, "clusterset_doh_queries_total{"));
    const before = count(await metricsOn(connections[0]!));
    await Promise.all(connections.map((connection) => connection.addresses(NAME)));
    for (const connection of connections.slice(0, 4)) {
      const text = await metricsOn(connection);
      const open = valuesIn(text, OPEN);
      expect(count(text) - before).toBe(connections.length);
      expect(open).toHaveLength(THREADS);
      // Those of this test, and perhaps some that are about to close.
      expect(sum(open)).toBeGreaterThanOrEqual(connections.length);
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
    await expect(start({ port })).rejects.toThrow(/is taken/);
    other.close();
  });
});

it("a client has one rate, whichever threads have its connections and answer its requests", async () => {
  const burst = 100;
  const config = { clients: { exempt: [], requestsPerSecond: 1, requestBurst: burst } };
  const gateway = await startForTest({ config });
  const began = performance.now();
  const connections = await openForTest(gateway);
  const requests = connections.flatMap((connection) =>
    Array.from({ length: 10 }, () => connection.get("/dns-query?dns=AAABAAABAAAAAAAAA3dlYgAAAQAB")),
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
  expect(sum(valuesIn(metrics!.body.toString(), series))).toBe(rejected.length);
});

it("a client has one number of connections, whichever threads have them", async () => {
  const most = 20;
  const clients = { exempt: ["127.0.0.2/32"], connections: most, connectionsPerSecond: 0 };
  const limits = { handshakeSeconds: 600, requestSeconds: 600 };
  const gateway = await startForTest({ config: { clients, limits } });
  // Another client has limits of its own.
  const other = await Connection.open(gateway, "127.0.0.2");
  onTestFinished(() => other.close());
  // That of the start has closed.
  await until(async () => expect(sum(valuesIn(await metricsOn(other), OPEN))).toBe(1));
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
  await until(async () => expect(sum(valuesIn(await metricsOn(other), series))).toBe(MANY - most));
  expect(open()).toBe(most);
});

it("while the main thread stands still every thread answers health checks and queries, which say that they are stale, and a push waits", async () => {
  const file = join(temporaryFolder("still"), "moving-again");
  const gateway = await startForTest({
    config: { limits: { requestSeconds: 600 } },
    env: { NODE_OPTIONS: PRELOAD, MOVING_AGAIN: file },
  });
  await push(gateway, 2);
  const connections = await openForTest(gateway);
  process.kill(gateway.process.pid!, "SIGUSR2");
  onTestFinished(() => writeFileSync(file, ""));

  let isPushed = false;
  const pushed = push(gateway, 3).finally(() => {
    isPushed = true;
  });
  const ready = async () => (await connections[0]!.get("/readyz")).body.toString();
  const stale = /^ready: 1 of 1 clusters live; stale: a change waits for \d+ s\n$/;
  await eventually(ready).toMatch(stale);
  for (const connection of connections) {
    expect((await connection.get("/healthz")).status).toBe(200);
    const { status, body } = await connection.get("/readyz");
    expect([status, body.toString()]).toEqual([200, expect.stringMatching(stale)]);
    expect(await connection.addresses(NAME)).toHaveLength(2);
  }
  const query = queryBytes({ name: NAME, type: "A", edns: true }, 0);
  const post = { ":method": "POST", "content-type": "application/dns-message" };
  const errors = async () => extendedErrors((await connections[0]!.get("/dns-query", post, query)).body);
  await eventually(errors).toEqual([STALE_ANSWER]);
  expect(isPushed).toBe(false);

  writeFileSync(file, "");
  await pushed;
  for (const connection of connections) expect(await connection.addresses(NAME)).toHaveLength(3);
  await eventually(ready).toBe("ready: 1 of 1 clusters live\n");
});

it.each([
  ["that reaches the limit of its memory", "memory", "ERR_WORKER_OUT_OF_MEMORY"],
  ["with an uncaught error", "error", "an error that nothing catches"],
])(
  "a thread %s is logged, counted and replaced, and only its connections are lost",
  async (_, cause, reason) => {
    const causeFile = join(temporaryFolder("ending"), "cause");
    const gateway = await startForTest({
      // Most connections are silent for long.
      config: { limits: { requestSeconds: 600 } },
      env: { NODE_OPTIONS: `--max-old-space-size=${HEAP} ${PRELOAD}`, ENDING_CAUSE: causeFile },
    });
    await push(gateway, 2);
    const connections = await openForTest(gateway);
    const countsOn = async (connection: Connection) => {
      const text = await metricsOn(connection);
      const [replaced] = valuesIn(text, "clusterset_doh_threads_replaced_total");
      return { open: valuesIn(text, OPEN), replaced };
    };
    // Those of the requests above close soon.
    await eventually(async () => sum((await countsOn(connections[0]!)).open)).toBe(MANY);
    const before = await countsOn(connections[0]!);
    expect([before.open.length, before.replaced]).toEqual([2, 0]);
    const kept = () => connections.filter(({ session }) => !session.closed && !session.destroyed);

    writeFileSync(`${causeFile}.draft`, cause);
    renameSync(`${causeFile}.draft`, causeFile);
    const events = () =>
      gateway.process
        .log()
        .split("\n")
        .filter((line) => line.includes('"event":"thread-'))
        .map((line) => JSON.parse(line) as { event: string; level: string; thread: number; err?: object });
    await eventually(() => events().map(({ event }) => event)).toEqual(["thread-ended", "thread-replaced"]);
    const [ended] = events();
    expect([ended!.level, ended!.thread]).toEqual(["error", 1]);
    expect(JSON.stringify(ended!.err)).toContain(reason);

    await eventually(() => kept().length).toBe(before.open[0]);
    for (const connection of kept()) expect(await connection.addresses(NAME)).toHaveLength(2);
    expect(await countsOn(kept()[0]!)).toEqual({ open: [before.open[0], 0], replaced: 1 });

    // The thread in its place has what was pushed before, and what is pushed from now on.
    const more = await openForTest(gateway);
    for (const connection of more) expect(await connection.addresses(NAME)).toHaveLength(2);
    expect(Math.min(...(await countsOn(more[0]!)).open)).toBeGreaterThan(0);
    await push(gateway, 3);
    for (const connection of [...kept(), ...more]) expect(await connection.addresses(NAME)).toHaveLength(3);
    expect(kept()).toHaveLength(before.open[0]!);
  },
);
