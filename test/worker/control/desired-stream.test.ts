import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DesiredState, followDesiredState, readDesiredState } from "../../../src/worker/control/desired.ts";
import { GatewayRequests } from "../../../src/worker/gateway-requests.ts";
import { until } from "../../until.ts";
import { desiredImport, linesOf, START } from "./desired-lines.ts";

/** A gateway whose answers a test gives, in order; the last one again and again. */
class Gateway {
  readonly asked: string[] = [];
  answers: ((response: ServerResponse) => void)[] = [];
  #server = createServer(({ url, headers }, response) => {
    this.asked.push(`${url} ${headers.authorization}`);
    const answer = this.answers.length > 1 ? this.answers.shift()! : this.answers[0]!;
    answer(response);
  });
  requests!: GatewayRequests;

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const { port } = this.#server.address() as AddressInfo;
    this.requests = new GatewayRequests({ gateway: `http://127.0.0.1:${port}`, token: "secret" });
  }

  async stop(): Promise<void> {
    await this.requests.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const send = (response: ServerResponse, ...lines: readonly unknown[]) => {
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  for (const line of lines) response.write(typeof line === "string" ? line : `${JSON.stringify(line)}\n`);
};
const whole = (position: string) => (response: ServerResponse) =>
  send(response, START, { leases: { a: 60 } }, ...linesOf(), { position });
const brokenOff = (response: ServerResponse) => {
  whole("p/1")(response);
  setImmediate(() => response.destroy());
};
const reject =
  (status: number, code: string, message = "m") =>
  (response: ServerResponse) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ code, message }));

const gateways = [new Gateway(), new Gateway()];
const warnings: string[] = [];
let state: DesiredState;
let stop: AbortController;
let following: Promise<void>;

beforeEach(async () => {
  warnings.length = 0;
  state = new DesiredState(() => performance.now(), 0);
  stop = new AbortController();
  for (const gateway of gateways) {
    gateway.asked.length = 0;
    await gateway.start();
  }
});

afterEach(async () => {
  stop.abort();
  await following;
  for (const gateway of gateways) await gateway.stop();
});

const optionsFor = (count: number) => ({
  clusterId: "b",
  leaseSeconds: 60,
  gateways: gateways.slice(0, count).map(({ requests }) => requests),
  state,
  logger: { info() {}, error() {}, warn: (_: object, message: string) => void warnings.push(message) },
  backoff: { first: 1, most: 2 },
});

function follow(count = 1): void {
  following = followDesiredState({ ...optionsFor(count), touched: () => undefined }, stop.signal);
}

const wanted = () => state.service("shop/db", "b").import;

test("resumes at its position when the stream breaks off, and keeps the state meanwhile", async () => {
  gateways[0]!.answers = [
    brokenOff,
    (response) =>
      send(
        response,
        { start: "changes", formatVersion: 1 },
        { import: "shop/db", desired: null },
        { position: "p/2" },
      ),
  ];
  follow();
  await until(() => expect(state.position).toBe("p/2"));
  expect(gateways[0]!.asked[1]).toBe("/api/v1/clusters/b/desired?after=p%2F1 Bearer secret");
  expect(wanted()).toBeUndefined();
});

test("goes to the next gateway when one fails, and there begins with a snapshot", async () => {
  gateways[0]!.answers = [brokenOff];
  gateways[1]!.answers = [whole("q/1")];
  follow(2);
  await until(() => expect(state.position).toBe("q/1"));
  expect(gateways[1]!.asked).toEqual(["/api/v1/clusters/b/desired Bearer secret"]);
});

test.each([
  ["a line that is not JSON", "{\n", /line 1 is not JSON/],
  [
    "a line of another form",
    { start: "snapshot", formatVersion: 2 },
    /line 1 is not a line of a desired state/,
  ],
  ["lines without a start", { position: "1" }, /does not begin with start/],
  ["a line without an end", "x".repeat(4 * 1024 * 1024 + 1), /more than/],
])("%s is an error, and the state stays", async (_, line, message) => {
  gateways[0]!.answers = [brokenOff, (response) => send(response, line), whole("p/3")];
  follow();
  await until(() => expect(state.position).toBe("p/3"));
  expect(warnings.some((warning) => message.test(warning))).toBe(true);
  expect(gateways[0]!.asked[2], "begins with a snapshot").toBe("/api/v1/clusters/b/desired Bearer secret");
  expect(wanted()).toEqual(desiredImport());
});

test("an unreadable line costs its own service alone, whose objects stay as they are, and few are logged", async () => {
  const broken = Array.from({ length: 100 }, (_, index) => ({ import: `shop/x${index}`, desired: {} }));
  const [readable, slice] = linesOf();
  gateways[0]!.answers = [
    (response) =>
      send(
        response,
        START,
        { leases: { a: 60 } },
        readable,
        { ...slice, desired: 1 },
        ...broken,
        {
          import: "shop/web",
          desired: desiredImport(),
        },
        { position: "p/2" },
      ),
  ];
  follow();
  await until(() => expect(state.position).toBe("p/2"));
  expect(["shop/db", "shop/x0", "shop/web"].map((key) => state.knows(key))).toEqual([false, false, true]);
  expect(state.service("shop/web", "b").import).toEqual(desiredImport());
  expect(warnings).toHaveLength(10);
  expect(warnings[0]).toMatch(/line 4 is not a line of a desired state.*stay as they are/);
});

test("a rejection is logged with the gateway's code and next step", async () => {
  gateways[0]!.answers = [reject(403, "NO_CONTROL", "set control: true")];
  follow();
  await until(() => expect(warnings.length).toBeGreaterThan(0));
  expect(warnings[0]).toContain("set control: true");
});

describe("a state that is read once", () => {
  const read = () => readDesiredState(optionsFor(2), stop.signal);

  test("is that of the first gateway that has it", async () => {
    gateways[0]!.answers = [reject(409, "CLUSTER_NOT_LIVE")];
    gateways[1]!.answers = [whole("x.1")];
    await read();
    expect(state.isKnown).toBe(true);
  });

  test("is tried again where time may help, and then an error", async () => {
    for (const gateway of gateways) gateway.answers = [reject(503, "BUSY")];
    await expect(read()).rejects.toMatchObject({ code: "BUSY" });
    expect(gateways.map(({ asked }) => asked.length)).toEqual([5, 5]);
    gateways[0]!.answers = [reject(503, "BUSY"), whole("x.1")];
    await read();
  });

  test("is an error if a signal ends it before", async () => {
    gateways[0]!.answers = [() => stop.abort()];
    await expect(read()).rejects.toMatchObject({ code: "STOPPED" });
  });
});
