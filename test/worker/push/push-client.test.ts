import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ExtractedState } from "../../../src/extract/extracted-state.ts";
import type { Degradation } from "../../../src/snapshot/report.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { requestLimit, silenceLimit } from "../../../src/worker/gateway-requests.ts";
import { PushClient, type PushClientOptions } from "../../../src/worker/push-client.ts";
import { stopClock } from "../../hosts/server/stopped-clock.ts";
import { exporting } from "../../merge/fixtures.ts";
import { until } from "../../until.ts";
import type { GatewayDouble, RequestError } from "../gateway-double.ts";
import type { KeptLogs } from "../logs.ts";
import { WorkerWorld } from "../worker-world.ts";

let world: WorkerWorld;
let gateway: GatewayDouble;
let logs: KeptLogs;
const { signal } = new AbortController();

beforeEach(async () => {
  world = new WorkerWorld();
  ({ logs } = world);
  gateway = await world.startGateway();
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function open(more: Partial<PushClientOptions> = {}): PushClient {
  return new PushClient({
    gateway: gateway.url,
    token: "secret-1",
    leaseSeconds: 60,
    logger: logs,
    isCurrent: () => true,
    backoff: { first: 5, most: 20 },
    slowBackoff: { first: 5, most: 20 },
    ...more,
  });
}

function start(more: Partial<PushClientOptions> = {}) {
  const client = open(more);
  const state = new ExtractedState();
  let newest: ClusterSnapshot | undefined;
  const refresh = () => {
    if (newest !== undefined) become(state, newest);
    return newest !== undefined;
  };
  world.run((signal) => client.run({ state, refresh }, signal).finally(() => client.close()));
  return {
    offer: (snapshot: ClusterSnapshot) => {
      newest = snapshot;
      client.changed();
    },
    changed: () => client.changed(),
    status: () => client.status(),
  };
}

test("warns of a token that is sent in clear to another machine", () => {
  const warns = (url: string) => {
    logs.lines.length = 0;
    open({ gateway: url });
    return logs.lines.some((line) => line.includes("unencrypted"));
  };
  for (const url of ["http://localhost:8443", "http://127.9.9.9", "http://[::1]:8443", "https://doh.example"])
    expect(warns(url), url).toBe(false);
  for (const host of ["doh.example", "localhost.evil.example", "127.evil.example", "127.0.0.1.evil.example"])
    expect(warns(`http://${host}`), host).toBe(true);
});

const SHOP = {};

function become(state: ExtractedState, { clusterId, exports }: ClusterSnapshot): void {
  state.identify(clusterId);
  state.set("namespaces", "shop", SHOP);
  state.set("exports", "shop/web", exports["shop/web"]);
}

function snapshot(endpoints: number, clusterId = "east"): ClusterSnapshot {
  const members = Object.fromEntries(
    Array.from({ length: endpoints }, (_, index) => [`10.0.0.${index}`, { address: `10.0.0.${index}` }]),
  );
  return exporting(clusterId, { headless: true, endpoints: { "*": { ports: [], members } } });
}

/** Lets the client's time pass only by `whilePassing`. */
const fakeTime = () => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
const whilePassing = (check: () => void) =>
  until(() => {
    vi.advanceTimersByTime(1000);
    check();
  });
const renewals = () => gateway.seen.filter(({ method }) => method === "POST");

const holds = (wanted: ClusterSnapshot) =>
  until(() => expect(gateway.held.get(wanted.clusterId)?.snapshot).toEqual(wanted));

async function push(client: ReturnType<typeof start>, wanted: ClusterSnapshot): Promise<void> {
  client.offer(wanted);
  await holds(wanted);
}

/** Lets the next requests fail. */
function failWith(...errors: RequestError[]): void {
  gateway.error = () => errors.shift();
}

/** A client that has pushed its first snapshot. */
async function startHeld(more?: Partial<PushClientOptions>) {
  const client = start(more);
  await push(client, snapshot(1));
  return client;
}

test("pushes the full snapshot first, compressed, then deltas in proportion to the change, and all of another cluster id", async () => {
  const client = start({ gateway: `${gateway.url}/` });
  await push(client, snapshot(100));
  await push(client, snapshot(101));
  await push(client, snapshot(1, "west"));
  expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot", "PUT snapshot"]);
  const [put, patch] = gateway.seen;
  expect(put!.path).toBe("/api/v1/clusters/east/snapshot?leaseSeconds=60");
  expect(put!.headers).toMatchObject({
    authorization: "Bearer secret-1",
    "content-type": "application/x-ndjson",
    "content-encoding": "gzip",
  });
  expect(patch!.path).toBe("/api/v1/clusters/east/snapshot?baseGeneration=1&leaseSeconds=60");
  expect(patch!.body).toEqual([
    ["exports", "shop/web", { endpoints: { "*": { members: { "10.0.0.100": { address: "10.0.0.100" } } } } }],
  ]);
});

test("a push may take as long as what it has before it is compressed, not after", async () => {
  const limits = vi.spyOn(AbortSignal, "timeout");
  const large = snapshot(10_000);
  start({ leaseSeconds: 15 }).offer(large);
  await holds(large);
  expect(Number(gateway.seen[0]!.headers["content-length"])).toBeLessThan(256 * 1024);
  expect(limits).toHaveBeenCalledWith(requestLimit(15, JSON.stringify(large).length));
  expect(limits).not.toHaveBeenCalledWith(requestLimit(15, 100));
});

const SHORT = { first: 40, most: 40 };
const LONG = { first: 60_000, most: 60_000 };
test.each<[string, Partial<PushClientOptions>, RequestError | undefined, burst: number, pause: number]>([
  [
    "pushes endless changes no faster than the budget",
    { budget: { perSecond: 20, burst: 3 } },
    undefined,
    3,
    50,
  ],
  [
    "pauses by the short backoff between different snapshots that are all rejected",
    { slowBackoff: LONG, backoff: SHORT },
    { status: 422 },
    1,
    40,
  ],
])("%s", async (_, options, error, burst, pause) => {
  gateway.error = () => error;
  const pass = stopClock();
  const client = start(options);
  let changes = 0;
  /** Changes the snapshot some times, in which a request that nothing holds back is at the gateway. */
  const change = async (goesOn: (turn: number) => boolean = (turn) => turn < 200) => {
    for (let turn = 0; goesOn(turn); turn++) {
      client.offer(snapshot(++changes % 100));
      await new Promise(setImmediate);
    }
  };
  const changeUntil = (requests: number) => change(() => gateway.seen.length < requests);
  await changeUntil(burst);
  for (let requests = burst + 1; requests <= burst + 3; requests++) {
    await change();
    expect(gateway.seen).toHaveLength(requests - 1);
    pass(pause);
    await changeUntil(requests);
  }
});

test("names the newest generation that the gateway named with what replaces any, so that it replaces none that is newer", async () => {
  const client = await startHeld({ backoff: LONG });
  const hold = (generation: number) => gateway.held.set("east", { generation, snapshot: snapshot(1) });
  // A gateway that is behind names an older one, which is not forgotten for that.
  hold(0);
  await push(client, snapshot(2));
  // Another request of this cluster came to the gateway since, and one more before the full snapshot.
  hold(7);
  gateway.error = ({ method }) => {
    if (method !== "PUT") return undefined;
    gateway.error = () => undefined;
    hold(8);
    return undefined;
  };
  await push(client, snapshot(3));
  expect(gateway.seen.map(({ method, path }) => `${method} ${path.split("?")[1]}`)).toEqual([
    "PUT leaseSeconds=60",
    "PATCH baseGeneration=1&leaseSeconds=60",
    "PUT leaseSeconds=60&after=1",
    "PATCH baseGeneration=2&leaseSeconds=60",
    "PUT leaseSeconds=60&after=7",
    "PUT leaseSeconds=60&after=8",
  ]);
});

test("renews the lease without changes, and sends the full snapshot if the renewal gets 409", async () => {
  fakeTime();
  await startHeld();
  await whilePassing(() => expect(renewals().length).toBeGreaterThan(2));
  expect(renewals().at(-1)).toMatchObject({ body: { generation: 1 } });
  gateway.held.clear();
  await whilePassing(() => expect(gateway.held.get("east")?.snapshot).toEqual(snapshot(1)));
});

test("lets the lease expire while the source cannot confirm the state", async () => {
  let current = false;
  fakeTime();
  const isCurrent = vi.fn(() => current);
  const client = start({ isCurrent });
  await push(client, snapshot(1));
  await push(client, snapshot(2));
  await whilePassing(() => expect(isCurrent.mock.calls.length).toBeGreaterThan(1));
  expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot"]);
  current = true;
  await whilePassing(() => expect(renewals()).not.toEqual([]));
});

test.each([
  [401, "--token-file"],
  [403, "--cluster-id"],
  [404, "--gateway"],
  [302, "redirects are not followed"],
  [422, "correct its object"],
  [413, "export less"],
])("logs the next step for %i, and retries until an operator has fixed it", async (status, step) => {
  let left = 2;
  gateway.error = () => (left-- > 0 ? { status, code: "WHY" } : undefined);
  start().offer(snapshot(1));
  await holds(snapshot(1));
  expect(logs.lines[0]).toMatch(new RegExp(`^error: .*${status} WHY: as asked; next step: .*${step}`));
  expect(logs.lines.join()).not.toContain("secret-1");
});

test("renews the lease of the last good state while the gateway rejects a newer one, which is tried again no sooner", async () => {
  fakeTime();
  gateway.error = ({ method }) => (method === "PATCH" ? { status: 413, code: "LINE_TOO_LONG" } : undefined);
  const client = await startHeld({ slowBackoff: { first: 1e9, most: 1e9 } });
  client.offer(snapshot(2));
  await whilePassing(() => expect(renewals().length).toBeGreaterThan(2));
  expect(gateway.verbs.filter((verb) => !verb.startsWith("POST"))).toEqual([
    "PUT snapshot",
    "PATCH snapshot",
  ]);
  gateway.error = () => undefined;
  client.offer(snapshot(3));
  await whilePassing(() => expect(gateway.held.get("east")?.snapshot).toEqual(snapshot(3)));
});

/** A client that has pushed, and what lets a third of the lease pass: after so many requests and failures. */
async function startThirds() {
  const client = await startHeld();
  const pass = stopClock();
  const passThird = async (requests: number, failures: number) => {
    await until(() => expect(gateway.seen).toHaveLength(requests));
    await until(() => expect(logs.lines.filter((line) => line.includes("as asked"))).toHaveLength(failures));
    pass(20_000);
    client.changed();
  };
  return { client, passThird };
}

test.each([400, 403, 408, 413, 422, 429, 500, 503])(
  "renews the lease while the gateway or a proxy answers a delta with %i, and pushes that again",
  async (status) => {
    const { client, passThird } = await startThirds();
    gateway.error = ({ method }) => (method === "PATCH" && renewals().length === 0 ? { status } : undefined);
    client.offer(snapshot(2));
    await passThird(2, 1);
    await holds(snapshot(2));
    expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot", "POST lease", "PATCH snapshot"]);
  },
);

test("pushes after a renewal that failed, since a delta renews the lease, too", async () => {
  const { client, passThird } = await startThirds();
  failWith({ status: 503 }, { status: 403 });
  client.offer(snapshot(2));
  await passThird(2, 1);
  await passThird(3, 2);
  await holds(snapshot(2));
  expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot", "POST lease", "PATCH snapshot"]);
});

test.each(["PATCH", "POST"])(
  "renews the lease in time after a %s that the gateway wants only after five minutes",
  async (refused) => {
    const { client, passThird } = await startThirds();
    failWith({ status: 503, headers: { "retry-after": "300" } });
    if (refused === "PATCH") client.offer(snapshot(2));
    else await passThird(1, 0);
    await passThird(2, 1);
    await until(() => expect(gateway.seen.map(({ method }) => method)).toEqual(["PUT", refused, "POST"]));
  },
);

test("a delta that failed, and whose changes were taken back, is no failure any more with the next renewals", async () => {
  const { client, passThird } = await startThirds();
  failWith({ status: 503 });
  client.offer(snapshot(2));
  await until(() => expect(client.status().failure).toBe("TEST"));
  client.offer(snapshot(1));
  await passThird(2, 1);
  await passThird(3, 1);
  await until(() => expect(client.status().failure).toBeUndefined());
  expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot", "POST lease", "POST lease"]);
});

describe("a worker that was started anew, and whose snapshot is rejected,", () => {
  const restart = (instance: string | undefined) => {
    gateway.held.set("east", { generation: 7, snapshot: snapshot(1) });
    gateway.error = ({ method }) => (method === "PUT" ? { status: 413 } : undefined);
    const client = start({ instance: () => instance, slowBackoff: { first: 1e9, most: 1e9 } });
    client.offer(snapshot(2));
    return client;
  };

  test("renews the lease of what the gateway still answers from, and replaces that as soon as it can", async () => {
    const client = restart("i");
    const pass = stopClock();
    await until(() => expect(renewals()).toHaveLength(1));
    pass(20_000);
    client.changed();
    await until(() => expect(renewals()).toHaveLength(2));
    gateway.error = () => undefined;
    await push(client, snapshot(3));
    expect(gateway.verbs).toEqual(["PUT snapshot", "GET east", "POST lease", "POST lease", "PUT snapshot"]);
    expect(renewals().map(({ body }) => body)).toEqual([{ generation: 7 }, { generation: 7 }]);
    expect(gateway.seen.at(-1)!.path).toContain("after=7");
  });

  test.each([
    ["whose lease expired", "i", ["PUT snapshot", "GET east"]],
    ["that may be of another cluster, as the worker has no instance", undefined, ["PUT snapshot"]],
  ])("renews none %s", async (_, instance, verbs) => {
    gateway.isLive = false;
    const client = restart(instance);
    await until(() => expect(gateway.verbs).toEqual(verbs));
    client.offer(snapshot(3));
    await until(() => expect(gateway.verbs).toEqual([...verbs, ...verbs]));
  });
});

test("reads the token again for each request", async () => {
  let token = "old";
  gateway.error = ({ headers }) => (headers.authorization === "Bearer new" ? undefined : { status: 401 });
  start({ token: () => `${token}\n` }).offer(snapshot(1));
  await until(() => expect(gateway.seen.length).toBeGreaterThan(0));
  token = "new";
  await holds(snapshot(1));
});

test("deliver retries transient failures, gives up with the reason, and fails at once for others", async () => {
  let left = 4;
  gateway.error = () => (left-- > 0 ? "drop" : undefined);
  const client = open();
  await client.deliver(snapshot(1), signal);
  expect(gateway.held.get("east")?.snapshot).toEqual(snapshot(1));

  gateway.error = () => "drop";
  await expect(client.deliver(snapshot(2), signal)).rejects.toMatchObject({ code: "UNREACHABLE" });
  gateway.error = () => ({ status: 403, code: "OTHER_CLUSTER" });
  const before = gateway.seen.length;
  await expect(client.deliver(snapshot(2), signal)).rejects.toMatchObject({ code: "OTHER_CLUSTER" });
  expect(gateway.seen.length).toBe(before + 1);
  await client.close();
});

test("deliver takes no 200 without an acknowledgement, and sends no invalid token", async () => {
  const codeOf = async (token: string) => {
    const client = open({ token });
    const { code } = await client.deliver(snapshot(1), signal).then(
      () => ({ code: undefined }),
      (error: { code: string }) => error,
    );
    await client.close();
    return code;
  };
  for (const token of ["", "two words", "line\nbreak"]) expect(await codeOf(token)).toBe("TOKEN_MALFORMED");
  expect(gateway.seen).toEqual([]);
  gateway.error = () => ({ status: 200 });
  expect(await codeOf("secret-1")).toBe("NO_ACKNOWLEDGEMENT");
});

test("reports what is wrong with the worker at once, with renewals and with pushes, until the gateway has taken it, and its end", async () => {
  let degraded: Degradation[] = [];
  const client = await startHeld({ report: () => (degraded.length > 0 ? { degraded } : {}) });
  const become = (...reasons: Degradation[]) => {
    degraded = reasons;
    client.changed();
  };
  become({ reason: "API_UNREACHABLE", seconds: 5 });
  await until(() => expect(gateway.verbs).toEqual(["PUT snapshot", "POST lease"]));
  // Time that passes is no news.
  become({ reason: "API_UNREACHABLE", seconds: 6 });
  await push(client, snapshot(2));
  become();
  await until(() => expect(gateway.verbs).toHaveLength(4));
  failWith({ status: 503 }, "drop", { status: 409 });
  become({ reason: "RBAC_FORBIDDEN", seconds: 5, subject: "services" });
  await until(() => expect(gateway.verbs).toHaveLength(8));
  const unreachable = (seconds: number) => [{ reason: "API_UNREACHABLE", seconds }];
  expect(gateway.seen.map((request) => [request.method, request.degraded])).toEqual([
    ["PUT", undefined],
    ["POST", unreachable(5)],
    ["PATCH", unreachable(6)],
    ["POST", undefined],
    ...["POST", "POST", "POST", "PUT"].map((method) => [method, degraded]),
  ]);
});

test("a request counts as lost while the lease outlives it and a second attempt, and a stream before leases of its last line expire", () => {
  expect(requestLimit(20, 100)).toBe(6_666);
  expect(requestLimit(60, 10_000_000)).toBe(60_000);
  for (const lease of [15, 30, 60, 120]) {
    expect((lease * 1000) / 3 + 2 * requestLimit(lease, 100)).toBeLessThanOrEqual(lease * 1000);
    expect(silenceLimit(lease)).toBeLessThan((lease * 1000 * 2) / 3);
  }
});
