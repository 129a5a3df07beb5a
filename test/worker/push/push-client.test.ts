import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ExtractedState } from "../../../src/extract/extracted-state.ts";
import type { Degradation } from "../../../src/snapshot/report.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { requestLimit } from "../../../src/worker/gateway-requests.ts";
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

test.each([
  ["http://localhost:8443", false],
  ["http://127.9.9.9", false],
  ["http://[::1]:8443", false],
  ["https://doh.example", false],
  ["http://doh.example", true],
  ["http://localhost.evil.example", true],
  ["http://127.evil.example", true],
  ["http://127.0.0.1.evil.example", true],
])("warns of a token that is sent in clear to another machine: %s, %s", (url, isWarned) => {
  open({ gateway: url });
  expect(logs.lines.some((line) => line.includes("unencrypted"))).toBe(isWarned);
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

/**
 * Changes of a cluster, each of which a client is told of: some, or until the gateway has seen so many
 * requests.
 */
function changing(client: ReturnType<typeof start>) {
  let changes = 0;
  const change = async (goesOn: (turn: number) => boolean = (turn) => turn < TURNS) => {
    for (let turn = 0; goesOn(turn); turn++) {
      client.offer(snapshot(++changes % 100));
      await new Promise(setImmediate);
    }
  };
  return { change, changeUntil: (requests: number) => change(() => gateway.seen.length < requests) };
}

/** In which a request that nothing holds back is at the gateway. */
const TURNS = 200;

/** Lets the client's time pass only by `whilePassing`. */
const fakeTime = () => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
const whilePassing = (check: () => void) =>
  until(() => {
    vi.advanceTimersByTime(1000);
    check();
  });
const parameters = () => gateway.seen.map(({ method, path }) => `${method} ${path.split("?")[1]}`);
const renewals = () => gateway.seen.filter(({ method }) => method === "POST");

const holds = (wanted: ClusterSnapshot) =>
  until(() => expect(gateway.held.get(wanted.clusterId)?.snapshot).toEqual(wanted));

/** A client that has pushed its first snapshot. */
async function startHeld(more?: Partial<PushClientOptions>) {
  const client = start(more);
  client.offer(snapshot(1));
  await holds(snapshot(1));
  return client;
}

test("pushes the full snapshot first, compressed, then deltas in proportion to the change", async () => {
  const client = start({ gateway: `${gateway.url}/` });
  client.offer(snapshot(100));
  await holds(snapshot(100));
  client.offer(snapshot(101));
  await holds(snapshot(101));
  expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot"]);
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

test("pushes endless changes no faster than the budget", async () => {
  const pass = stopClock();
  const client = start({ budget: { perSecond: 20, burst: 3 } });
  const { change, changeUntil } = changing(client);
  await changeUntil(3);
  for (let requests = 4; requests <= 6; requests++) {
    await change();
    expect(gateway.seen).toHaveLength(requests - 1);
    pass(50);
    await changeUntil(requests);
  }
});
test("names the newest generation that the gateway named with what replaces any, so that it replaces none that is newer", async () => {
  const client = await startHeld({ backoff: { first: 60_000, most: 60_000 } });
  // Another request of this cluster came to the gateway since, and one more before the full snapshot.
  gateway.held.set("east", { generation: 7, snapshot: snapshot(1) });
  gateway.error = ({ method }) => {
    if (method !== "PUT") return undefined;
    gateway.error = () => undefined;
    gateway.held.set("east", { generation: 8, snapshot: snapshot(1) });
    return undefined;
  };
  client.offer(snapshot(2));
  await holds(snapshot(2));
  expect(parameters()).toEqual([
    "PUT leaseSeconds=60",
    "PATCH baseGeneration=1&leaseSeconds=60",
    "PUT leaseSeconds=60&after=7",
    "PUT leaseSeconds=60&after=8",
  ]);
});

test("does not forget the newest generation where a gateway names an older one, as one that is behind does", async () => {
  const client = await startHeld({ backoff: { first: 60_000, most: 60_000 } });
  gateway.held.set("east", { generation: 0, snapshot: snapshot(0) });
  client.offer(snapshot(2));
  await holds(snapshot(2));
  expect(parameters()).toEqual([
    "PUT leaseSeconds=60",
    "PATCH baseGeneration=1&leaseSeconds=60",
    "PUT leaseSeconds=60&after=1",
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
  let asked = 0;
  fakeTime();
  const client = start({
    isCurrent: () => {
      asked++;
      return current;
    },
  });
  client.offer(snapshot(1));
  await holds(snapshot(1));
  client.offer(snapshot(2));
  await holds(snapshot(2));
  await whilePassing(() => expect(asked).toBeGreaterThan(1));
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

test("sends another snapshot at once after 422", async () => {
  gateway.error = ({ bytes }) => (bytes < 600 ? { status: 422 } : undefined);
  const client = start({ slowBackoff: { first: 60_000, most: 60_000 } });
  client.offer(snapshot(1));
  await until(() => expect(gateway.seen.length).toBe(1));
  await until(() => expect(logs.lines.length).toBe(1));
  client.offer(snapshot(50));
  await holds(snapshot(50));
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

/** Lets a third of the lease pass, after as many requests and, of these, as many failures. */
function passingThirds(client: ReturnType<typeof start>, leaseSeconds = 60) {
  const pass = stopClock();
  return async (requests: number, failures: number) => {
    await until(() => expect(gateway.seen).toHaveLength(requests));
    await until(() => expect(failuresLogged()).toHaveLength(failures));
    pass((leaseSeconds * 1000) / 3);
    client.changed();
  };
}
const failuresLogged = () => logs.lines.filter((line) => line.includes("as asked"));

test.each([400, 403, 408, 413, 422, 429, 500, 503])(
  "renews the lease while the gateway or a proxy answers a delta with %i, and pushes that again",
  async (status) => {
    const client = await startHeld();
    const passThird = passingThirds(client);
    gateway.error = ({ method }) => (method === "PATCH" && renewals().length === 0 ? { status } : undefined);
    client.offer(snapshot(2));
    await passThird(2, 1);
    await holds(snapshot(2));
    expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot", "POST lease", "PATCH snapshot"]);
  },
);

test("pushes after a renewal that failed, since a delta renews the lease, too", async () => {
  const client = await startHeld();
  const passThird = passingThirds(client);
  const failing: RequestError[] = [{ status: 503 }, { status: 403 }];
  gateway.error = () => failing.shift();
  client.offer(snapshot(2));
  await passThird(2, 1);
  await passThird(3, 2);
  await holds(snapshot(2));
  expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot", "POST lease", "PATCH snapshot"]);
});

test.each(["PATCH", "POST"])(
  "renews the lease in time after a %s that the gateway wants only after five minutes",
  async (refused) => {
    const client = await startHeld();
    const passThird = passingThirds(client);
    const failing: RequestError[] = [{ status: 503, headers: { "retry-after": "300" } }];
    gateway.error = () => failing.shift();
    if (refused === "PATCH") client.offer(snapshot(2));
    else await passThird(1, 0);
    await passThird(2, 1);
    await until(() => expect(gateway.seen.map(({ method }) => method)).toEqual(["PUT", refused, "POST"]));
  },
);

test("a delta that failed, and whose changes were taken back, is no failure any more with the next renewals", async () => {
  const client = await startHeld();
  const passThird = passingThirds(client);
  const failing: RequestError[] = [{ status: 503 }];
  gateway.error = () => failing.shift();
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
    const passThird = passingThirds(client);
    await passThird(3, 1);
    await until(() => expect(renewals()).toHaveLength(2));
    gateway.error = () => undefined;
    client.offer(snapshot(3));
    await holds(snapshot(3));
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

test("pauses by the short backoff between different snapshots that are all rejected", async () => {
  gateway.error = () => ({ status: 422 });
  const pass = stopClock();
  const pause = 40;
  const slowBackoff = { first: 60_000, most: 60_000 };
  const client = start({ slowBackoff, backoff: { first: pause, most: pause } });
  const { change, changeUntil } = changing(client);
  for (let rejected = 1; rejected <= 5; rejected++) {
    await changeUntil(rejected);
    await change();
    expect(gateway.seen).toHaveLength(rejected);
    pass(pause);
  }
});

test("reads the token again for each request", async () => {
  let token = "old";
  gateway.error = ({ headers }) => (headers.authorization === "Bearer new" ? undefined : { status: 401 });
  start({ token: () => `${token}\n` }).offer(snapshot(1));
  await until(() => expect(gateway.seen.length).toBeGreaterThan(0));
  token = "new";
  await holds(snapshot(1));
});

test("sends a full snapshot for another cluster id", async () => {
  const client = await startHeld();
  client.offer(snapshot(1, "west"));
  await holds(snapshot(1, "west"));
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

test("a 200 without an acknowledgement is an error", async () => {
  gateway.error = () => ({ status: 200 });
  const client = open();
  await expect(client.deliver(snapshot(1), signal)).rejects.toMatchObject({
    code: "NO_ACKNOWLEDGEMENT",
  });
  await client.close();
});

test.each(["", "two words", "line\nbreak"])(
  "the invalid token %j is an error before any request",
  async (token) => {
    const client = open({ token });
    await expect(client.deliver(snapshot(1), signal)).rejects.toMatchObject({ code: "TOKEN_MALFORMED" });
    expect(gateway.seen).toEqual([]);
    await client.close();
  },
);

test("reports what is wrong with the worker at once, with renewals and with pushes, and its end", async () => {
  let degraded: Degradation[] = [];
  const client = await startHeld({ report: () => (degraded.length > 0 ? { degraded } : {}) });
  degraded = [{ reason: "API_UNREACHABLE", seconds: 5 }];
  client.changed();
  await until(() => expect(gateway.verbs).toEqual(["PUT snapshot", "POST lease"]));
  // Time that passes is no news.
  degraded = [{ reason: "API_UNREACHABLE", seconds: 6 }];
  client.changed();
  client.offer(snapshot(2));
  await holds(snapshot(2));
  degraded = [];
  client.changed();
  await until(() => expect(gateway.verbs).toHaveLength(4));
  expect(gateway.seen.map((request) => [request.method, request.degraded])).toEqual([
    ["PUT", undefined],
    ["POST", [{ reason: "API_UNREACHABLE", seconds: 5 }]],
    ["PATCH", [{ reason: "API_UNREACHABLE", seconds: 6 }]],
    ["POST", undefined],
  ]);
});

test("a report that a gateway did not take is sent again; a full snapshot has it, too", async () => {
  const report = [{ reason: "RBAC_FORBIDDEN", seconds: 5, subject: "services" }];
  let degraded: Degradation[] = [];
  const client = await startHeld({ report: () => (degraded.length > 0 ? { degraded } : {}) });
  const failing: RequestError[] = [{ status: 503 }, "drop", { status: 409 }];
  gateway.error = () => failing.shift();
  degraded = report;
  client.changed();
  await until(() => expect(gateway.seen.at(-1)).toMatchObject({ method: "PUT", degraded: report }));
  expect(gateway.verbs).toEqual(["PUT snapshot", "POST lease", "POST lease", "POST lease", "PUT snapshot"]);
});
