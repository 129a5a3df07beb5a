import type { RequestListener, ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DesiredLine } from "../../../src/snapshot/desired-line.ts";
import {
  DesiredState,
  DesiredStateError,
  followDesiredState,
  readDesiredState,
} from "../../../src/worker/control/desired.ts";
import { GatewayRequests } from "../../../src/worker/gateway-requests.ts";
import { until } from "../../until.ts";
import { HttpDouble } from "../http-double.ts";
import { desiredImport, desiredSlice, linesOf, START, stateWith, take } from "./desired-lines.ts";

const CHANGES = { start: "changes", formatVersion: 1 } as const;

/** A stream of changes, which breaks off before its position if it has none. */
function changeTo(state: DesiredState, lines: readonly DesiredLine[], position?: string) {
  state.begin();
  state.take(CHANGES);
  for (const line of lines) state.take(line);
  return position === undefined ? undefined : state.take({ position });
}

test("lines count from the next position on, all together, and not where the stream breaks off before", () => {
  const state = new DesiredState(() => 0, 0);
  for (const line of [START, { leases: { a: 60 } }, ...linesOf()])
    expect(state.take(line)).toEqual("leases" in line ? "all" : undefined);
  expect(state.service("shop/db", "b").import).toBeUndefined();
  expect(state.take({ position: "1" })).toBe("all");
  expect(state.service("shop/db", "b").import).toEqual(desiredImport());
  changeTo(state, [{ import: "shop/db", desired: null }]);
  changeTo(state, [], "3");
  expect(state.service("shop/db", "b").import).toBeDefined();
  expect(state.position).toBe("3");
});

test("changes touch their keys and leave the rest", () => {
  const state = stateWith([...linesOf(), { import: "shop/web", desired: desiredImport() }]);
  const changed = { service: "shop/db", cluster: "a", slice: "v4-0", desired: desiredSlice("10.1.0.2") };
  expect(changeTo(state, [changed], "2")).toEqual(new Set(["shop/db"]));
  expect(
    [...state.service("shop/db", "b").slices.values()].map(({ desired }) => desired.endpoints[0]!.address),
  ).toEqual(["10.1.0.2"]);
  expect(state.service("shop/web", "b").import).toBeDefined();
});

test.each([
  ["a second start", [START, START]],
  ["changes without a state before", [CHANGES]],
] as const)("rejects %s", (_, lines) => {
  const state = new DesiredState(() => 0, 0);
  expect(() => {
    for (const line of lines) state.take(line);
  }).toThrow(DesiredStateError);
});

test("without news from the gateway, slices of a cluster go when its lease expires; the cluster's own stay (KEP-1645, Endpoint TTL)", () => {
  let now = 0;
  const state = stateWith(
    [...linesOf(), { service: "shop/db", cluster: "b", slice: "v4-0", desired: desiredSlice("10.2.0.1") }],
    { leases: { a: 30, b: 30 }, clock: () => now },
  );
  const clusters = () => [...state.service("shop/db", "b").slices.values()].map(({ cluster }) => cluster);
  expect(state.nextExpiry()).toBe(30_000);
  now = 29_999;
  expect(clusters()).toEqual(["a", "b"]);
  now = 30_000;
  expect(clusters()).toEqual(["b"]);
  expect(state.nextExpiry()).toBe(Number.POSITIVE_INFINITY);
  expect(state.take({ leases: { a: 30, b: 30 } })).toBe("all");
  expect(clusters()).toEqual(["a", "b"]);
});

test("what the state does not name may go if its cluster is live there, or its lease has expired", () => {
  let now = 0;
  const state = new DesiredState(() => now, 10_000);
  expect(state.mayRemove("shop/db", "a"), "before the first state").toBe(false);
  take(state, [], { b: 60 });
  expect(state.mayRemove("shop/db", "b"), "a live cluster").toBe(true);
  expect(state.mayRemove("shop/db", "a"), "an unknown cluster within the grace").toBe(false);
  now = 10_000;
  expect(state.mayRemove("shop/db", "a"), "an unknown cluster after the grace").toBe(true);
  take(state, [], { a: 60, b: 60 });
  take(state, [], { b: 60 });
  expect(state.mayRemove("shop/db", "a"), "a gateway that lost the cluster").toBe(false);
  now = 70_000;
  expect(state.mayRemove("shop/db", "a"), "after its last lease").toBe(true);
});

test("a new stream's silence is no knowledge until it names leases; what stayed for that is looked at again", () => {
  const state = stateWith(linesOf());
  state.begin();
  for (const line of [START, { position: "q" }] as const) state.take(line);
  expect(state.service("shop/db", "b").import).toBeUndefined();
  expect(state.mayRemove("shop/db", "a")).toBe(false);
  expect(state.take({ leases: { a: 60, b: 60 } })).toBe("all");
  expect(state.mayRemove("shop/db", "a")).toBe(true);
  expect(state.take({ leases: { a: 60, b: 60 } })).toBeUndefined();
});

test("what the gateway removes by a line of its own may go at once, whatever it knows of the cluster", () => {
  const state = stateWith(linesOf(), { leases: { b: 60 }, grace: 1000 });
  expect(state.mayRemove("shop/db", "a")).toBe(false);
  changeTo(state, [{ service: "shop/db", cluster: "a", slice: "v4-0", desired: null }], "2");
  expect(state.mayRemove("shop/db", "a")).toBe(true);
  expect(state.mayRemove("shop/web", "a")).toBe(false);
  state.take({ import: "shop/web", desired: null });
  state.take({ position: "3" });
  expect(state.mayRemove("shop/web", "a")).toBe(true);
  state.settled("shop/web");
  expect(state.mayRemove("shop/web", "a")).toBe(false);
  take(state, linesOf(), { b: 60 });
  expect(state.mayRemove("shop/db", "a"), "after a snapshot").toBe(false);
});

/** A gateway whose answers a test gives, in order; the last one again and again. */
class Gateway extends HttpDouble {
  readonly asked: string[] = [];
  answers: ((response: ServerResponse) => void)[] = [];
  requests!: GatewayRequests;
  readonly listener: RequestListener = ({ url, headers }, response) => {
    this.asked.push(`${url} ${headers.authorization}`);
    const answer = this.answers.length > 1 ? this.answers.shift()! : this.answers[0]!;
    answer(response);
  };

  override async start(): Promise<this> {
    await super.start();
    this.requests = new GatewayRequests({ gateway: this.url, token: "secret" });
    return this;
  }

  override async stop(): Promise<void> {
    await this.requests.close();
    await super.stop();
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

describe("a stream of the desired state", () => {
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

  /** Follows one gateway with these answers, or two, until the state has this position. */
  async function follow(position: string, ...answers: readonly Gateway["answers"][]): Promise<void> {
    for (const [index, given] of answers.entries()) gateways[index]!.answers = given;
    const options = { ...optionsFor(answers.length), touched: () => undefined };
    following = followDesiredState(options, stop.signal);
    await until(() => expect(state.position).toBe(position));
  }

  const wanted = () => state.service("shop/db", "b").import;
  const ANEW = "/api/v1/clusters/b/desired Bearer secret";

  test("resumes at its position when the stream breaks off, and keeps the state meanwhile", async () => {
    const change = [CHANGES, { import: "shop/db", desired: null }, { position: "p/2" }];
    await follow("p/2", [brokenOff, (response) => send(response, ...change)]);
    expect(gateways[0]!.asked[1]).toBe("/api/v1/clusters/b/desired?after=p%2F1 Bearer secret");
    expect(wanted()).toBeUndefined();
  });

  test("goes to the next gateway when one fails, logs the code and next step, and there begins with a snapshot", async () => {
    await follow("q/1", [brokenOff], [reject(403, "NO_CONTROL", "set control: true"), whole("q/1")]);
    expect(gateways[1]!.asked).toEqual([ANEW, ANEW]);
    expect(warnings.join()).toContain("set control: true");
  });

  test.each([
    ["a line that is not JSON", "{\n", /line 1 is not JSON/],
    ["a line of another form", { ...START, formatVersion: 2 }, /line 1 is not a line of a desired state/],
    ["lines without a start", { position: "1" }, /does not begin with start/],
    ["a line without an end", "x".repeat(4 * 1024 * 1024 + 1), /more than/],
  ])(
    "%s is an error, the state stays, and the next stream begins with a snapshot",
    async (_, line, message) => {
      await follow("p/3", [brokenOff, (response) => send(response, line), whole("p/3")]);
      expect(warnings.some((warning) => message.test(warning))).toBe(true);
      expect(gateways[0]!.asked[2]).toBe(ANEW);
      expect(wanted()).toEqual(desiredImport());
    },
  );

  test("an unreadable line costs its own service alone, whose objects stay as they are, and few are logged", async () => {
    const broken = Array.from({ length: 100 }, (_, index) => ({ import: `shop/x${index}`, desired: {} }));
    const [readable, slice] = linesOf();
    const other = { import: "shop/web", desired: desiredImport() };
    const lines = [START, { leases: { a: 60 } }, readable, { ...slice, desired: 1 }, ...broken, other];
    await follow("p/2", [(response) => send(response, ...lines, { position: "p/2" })]);
    expect(["shop/db", "shop/x0", "shop/web"].map((key) => state.knows(key))).toEqual([false, false, true]);
    expect(state.service("shop/web", "b").import).toEqual(desiredImport());
    expect(warnings).toHaveLength(10);
    expect(warnings[0]).toMatch(/line 4 is not a line of a desired state.*stay as they are/);
  });

  test("that is read once is that of the first gateway that has it, is tried again where time may help, and then an error", async () => {
    const read = () => readDesiredState(optionsFor(2), stop.signal);
    for (const gateway of gateways) gateway.answers = [reject(503, "BUSY")];
    await expect(read()).rejects.toMatchObject({ code: "BUSY" });
    expect(gateways.map(({ asked }) => asked.length)).toEqual([5, 5]);
    gateways[0]!.answers = [() => stop.abort()];
    await expect(read()).rejects.toMatchObject({ code: "STOPPED" });
    stop = new AbortController();
    gateways[0]!.answers = [reject(503, "BUSY"), reject(409, "CLUSTER_NOT_LIVE")];
    gateways[1]!.answers = [reject(503, "BUSY"), whole("x.1")];
    await read();
    expect(state.isKnown).toBe(true);
  });
});
