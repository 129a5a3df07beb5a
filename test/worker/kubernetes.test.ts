import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { SnapshotAssembler } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { KubernetesSource, type KubernetesSourceOptions } from "../../src/worker/kubernetes.ts";
import type { SourceError, SourceListener } from "../../src/worker/object-source.ts";
import { namespace, node, ofService, pod, service, serviceExport, slice } from "../extract/objects.ts";
import { until } from "../until.ts";
import type { ApiServerDouble } from "./api-server-double.ts";
import type { KeptLogs } from "./logs.ts";
import { WorkerWorld } from "./worker-world.ts";

const EXPORTS = "/apis/multicluster.x-k8s.io/serviceexports";
const V1BETA1_EXPORTS = "/apis/multicluster.x-k8s.io/v1beta1/serviceexports";
const SLICES = "/apis/discovery.k8s.io/endpointslices";

let world: WorkerWorld;
let api: ApiServerDouble;
let logs: KeptLogs;
let source: KubernetesSource;
let assembler: SnapshotAssembler;
let upserted: KubernetesObject[];
let errors: SourceError[];
/** The exports in each snapshot of the source, without repetitions. */
let pushed: string[];

beforeEach(async () => {
  world = new WorkerWorld();
  api = await world.startApi();
  ({ logs } = world);
  upserted = [];
  errors = [];
  pushed = [];
  api.put("/api/namespaces", namespace("shop"));
  for (const name of ["a", "b", "c", "d", "e"]) {
    api.put("/api/services", service(`shop/${name}`));
    api.put(EXPORTS, serviceExport(`shop/${name}`));
  }
});

function start(more: Partial<KubernetesSourceOptions> = {}): void {
  const clusterZone = { name: "cluster.local", pods: "verified" } as const;
  assembler = new SnapshotAssembler({ clusterId: "east", ...(more.pods === true && { clusterZone }) });
  source = new KubernetesSource({
    kubeconfig: world.kubeconfig,
    clusterIdGiven: true,
    logger: logs,
    pageSize: 2,
    ...more,
    times: {
      discovery: 50,
      goneAfter: 60,
      problemAfter: 50,
      backoff: { first: 10, most: 100 },
      slowBackoff: { first: 20, most: 100 },
      ...more.times,
    },
  });
  const listener: SourceListener = {
    upsert: (object) => {
      upserted.push(object);
      assembler.upsert(object);
    },
    delete: (object) => void assembler.delete(object),
    changed: () => {
      if (!source.complete) return;
      const names = exports();
      if (pushed.at(-1) !== names) pushed.push(names);
    },
    failed: (error) => errors.push(error),
  };
  world.run((signal) => source.run(listener, signal));
}

const exports = () => Object.keys(assembler.snapshot().exports).join("").replaceAll("shop/", "");

const becomes = (expected: string) =>
  until(() => {
    expect([source.complete, exports()]).toEqual([true, expected]);
    expect(pushed.at(-1)).toBe(expected);
  });

const allWatched = () =>
  until(() => {
    for (const path of [EXPORTS, SLICES, "/api/services", "/api/namespaces"])
      expect(api.watchers(path)).toBe(1);
  });

const pages = (path: string) => api.seen.filter((url) => url.startsWith(path) && !url.includes("watch="));

/** Starts a source, and waits until it has listed and watches everything. */
async function follow(more?: Partial<KubernetesSourceOptions>): Promise<void> {
  start(more);
  await becomes("abcde");
  await allWatched();
}

/** Long before an API server would be silent for too long. */
const soon = () => performance.now() + 10_000;

/** Code and subject of each problem that the source has. */
const problems = (now = performance.now()) =>
  source.problems(now).map(({ code, subject }) => (subject === undefined ? code : `${code} ${subject}`));

test("lists page by page, yields nothing before all lists are complete, then follows the watches", async () => {
  const held = Promise.withResolvers<void>();
  api.beforePage = (url) =>
    url.pathname.endsWith("/services") && url.searchParams.has("continue") ? held.promise : undefined;
  start();
  await until(() => expect(pages("/api/v1/services").length).toBe(2));
  await until(() => expect(api.watchers(EXPORTS)).toBe(1));
  expect([source.complete, pushed]).toEqual([false, []]);
  held.resolve();
  await becomes("abcde");
  expect(pushed).toEqual(["abcde"]);
  expect(pages(V1BETA1_EXPORTS).length).toBe(3);
  expect(api.seen.some((url) => url.includes("/v1alpha1/"))).toBe(false);
  await allWatched();

  api.put(EXPORTS, serviceExport("shop/f"));
  api.put("/api/services", service("shop/f"));
  await becomes("abcdef");
  api.remove(EXPORTS, "shop/a");
  await becomes("bcdef");
  api.put(SLICES, slice("shop/f-1", ofService("f"), [{ addresses: ["10.0.0.1"] }]));
  await until(() => expect(assembler.snapshot().exports["shop/f"]!.endpoints).not.toEqual({}));
  expect(errors).toEqual([]);
});

test("reads pods only if configured, and keeps few of their fields", async () => {
  const status = { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }], conditions: [] };
  const whole = { ...pod("shop/a-0", status, { uid: "u" }), spec: { containers: [{ name: "c" }] } };
  api.put("/api/pods", whole);
  start();
  await becomes("abcde");
  expect(api.seen.some((url) => url.includes("/pods"))).toBe(false);
  await world.stop();

  start({ pods: true });
  await becomes("abcde");
  expect(assembler.snapshot().pods).toEqual({ "shop/10.0.0.1": {} });
  const { conditions: _, ...kept } = status;
  expect(upserted.find(({ kind }) => kind === "Pod")).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a-0", namespace: "shop", resourceVersion: expect.any(String) },
    status: kept,
  });

  await until(() => expect(api.watchers("/api/pods")).toBe(1));
  api.remove("/api/pods", "shop/a-0");
  await until(() => expect(assembler.snapshot().pods).toEqual({}));
  api.put("/api/pods", pod("shop/b-0", status));
  await until(() => expect(assembler.snapshot().pods).toEqual({ "shop/10.0.0.1": {} }));
});

test("a watch that is closed goes on from the last resource version, be it that of a bookmark", async () => {
  await follow();
  for (const [how, left] of [
    ["end", "abde"],
    ["destroy", "abe"],
  ] as const) {
    api.closeWatches(how);
    api.remove(EXPORTS, how === "end" ? "shop/c" : "shop/d");
    await becomes(left);
    await allWatched();
  }
  expect(pages(V1BETA1_EXPORTS).length).toBe(3);
  api.send(EXPORTS, "BOOKMARK", { metadata: { resourceVersion: "999" } });
  api.closeWatches("end");
  const goesOn = /serviceexports\?watch=true&resourceVersion=999&allowWatchBookmarks=true/;
  await until(() => expect(api.seen.some((url) => goesOn.test(url))).toBe(true));
});

test("lists again without pages if the pages expire", async () => {
  let once = true;
  api.beforePage = (url) => {
    if (!once || !url.pathname.endsWith("/serviceexports") || !url.searchParams.has("continue")) return;
    once = false;
    api.compact(() => api.remove(EXPORTS, "shop/a"));
  };
  start();
  await becomes("bcde");
  expect(pushed).toEqual(["bcde"]);
});

test.each(["of another watch", "in a stream that stays open"])(
  "after 410 Gone %s it lists again, notices deletions, and yields no partial snapshot",
  async (where) => {
    await follow();
    api.compact(
      () => {
        api.remove(EXPORTS, "shop/a");
        api.remove("/api/services", "shop/b");
        api.put(EXPORTS, serviceExport("shop/f"));
        api.put("/api/services", service("shop/f"));
      },
      { closesWatches: where === "of another watch" },
    );
    await becomes("cdef");
    expect(pushed.every((names) => names.length >= 3)).toBe(true);
  },
);

test("keeps the state while the API server restarts, which is a problem after a while, then follows it", async () => {
  await follow();
  await until(() => expect(problems(soon())).toEqual([]));
  const before = performance.now();
  await api.stop();
  await until(() => expect(errors.some(({ code }) => code === "API_UNREACHABLE")).toBe(true));
  expect(exports()).toBe("abcde");
  const since = Math.max(...source.problems(soon()).map((problem) => problem.since));
  expect(source.problems(since + 49)).not.toContainEqual(expect.objectContaining({ since }));
  expect(source.problems(since + 51)).toContainEqual(expect.objectContaining({ since }));
  await until(() => expect(new Set(problems())).toEqual(new Set(["API_UNREACHABLE"])));
  for (const problem of source.problems(soon())) expect(problem.since).toBeGreaterThanOrEqual(before);
  const confirmed = source.lastConfirmed()!;
  // During its start it serves no CRDs, and is not ready.
  const versions = api.served.get("multicluster.x-k8s.io")!;
  api.served.delete("multicluster.x-k8s.io");
  api.ready = false;
  await api.start();
  const rounds = () => api.seen.filter((url) => url === "/apis").length;
  const seen = rounds();
  await until(() => expect(rounds()).toBeGreaterThan(seen + 3));
  expect(exports()).toBe("abcde");
  api.served.set("multicluster.x-k8s.io", versions);
  api.ready = true;
  api.remove(EXPORTS, "shop/a");
  await becomes("bcde");
  expect(pushed).toEqual(["abcde", "bcde"]);
  await until(() => expect(source.lastConfirmed()!).toBeGreaterThan(confirmed));
  await until(() => expect(problems(soon())).toEqual([]));
});

test("an API server that is silent is a problem a minute after it last said something, whatever the wall clock says", async () => {
  vi.spyOn(Date, "now").mockReturnValue(Date.now() + 86_400_000);
  onTestFinished(() => void vi.restoreAllMocks());
  start();
  await becomes("abcde");
  expect(source.lastConfirmed()).toBeLessThanOrEqual(performance.now());
  await until(() => {
    const since = source.lastConfirmed()!;
    expect(problems(since + 59_000)).toEqual([]);
    expect(source.problems(since + 60_001)).toContainEqual({ code: "API_UNREACHABLE", since });
  });
});

test("lists again if the API server does not know the resource version, as after a restored backup", async () => {
  await follow();
  api.send(EXPORTS, "ADDED", serviceExport("shop/lost", {}, { resourceVersion: "999999" }));
  const lost = "ServiceExport/shop/lost/NoService";
  await until(() => expect(assembler.snapshot().findings).toHaveProperty([lost]));
  api.closeWatches("destroy");
  api.remove(EXPORTS, "shop/e");
  await becomes("abcd");
  expect(assembler.snapshot().findings).not.toHaveProperty([lost]);
});

test("reads another version without a gap if one is no longer served", async () => {
  api.served.set("multicluster.x-k8s.io", ["v1alpha1"]);
  start();
  await becomes("abcde");
  api.served.set("multicluster.x-k8s.io", ["v1beta1"]);
  api.remove(EXPORTS, "shop/a");
  await until(() =>
    expect(api.seen.some((url) => url.includes("/v1beta1/serviceexports?watch="))).toBe(true),
  );
  await becomes("bcde");
  expect(pushed).toEqual(["abcde", "bcde"]);
  expect(api.watchers(EXPORTS)).toBe(1);
});

test("says that there are no CRDs as soon as the API server is ready, not before, and once", async () => {
  api.served.clear();
  api.ready = false;
  start();
  const said = () => logs.lines.filter((line) => line.includes("install the MCS CRDs")).length;
  await until(() => expect(pages("/apis").length).toBeGreaterThan(2));
  expect(said()).toBe(0);
  api.ready = true;
  await until(() => expect(said()).toBe(1));
  api.ready = false;
  const rounds = pages("/apis").length;
  await until(() => expect(pages("/apis").length).toBeGreaterThan(rounds + 2));
  api.ready = true;
  await until(() => expect(pages("/apis").length).toBeGreaterThan(rounds + 5));
  expect(said()).toBe(1);
});

test("notices new CRDs, and removes the objects of deleted CRDs after a while", async () => {
  const versions = api.served.get("multicluster.x-k8s.io")!;
  api.served.clear();
  start();
  await becomes("");
  expect(logs.lines.some((line) => line.includes("install the MCS CRDs"))).toBe(true);
  api.served.set("multicluster.x-k8s.io", versions);
  await becomes("abcde");
  api.served.clear();
  await becomes("");
  expect(pushed).toEqual(["", "abcde", ""]);
});

test("reads GKE's API group, too, but not that of KEP-1645's examples, and logs the right one once", async () => {
  api.served.set("net.gke.io", ["v1"]).set("multicluster.k8s.io", ["v1alpha1"]);
  api.put("/api/services", service("shop/g"));
  api.put("/apis/net.gke.io/serviceexports", serviceExport("shop/g", {}, {}, "net.gke.io/v1"));
  api.put("/apis/multicluster.k8s.io/serviceexports", serviceExport("shop/z"));
  start({ times: { discovery: 5 } });
  await becomes("abcdeg");
  await until(() => expect(pages("/apis").length).toBeGreaterThan(4));
  const lines = logs.lines.filter((line) => line.includes("multicluster.k8s.io, which is not read"));
  expect(lines).toEqual([expect.stringMatching(/^warn: .*multicluster\.x-k8s\.io/)]);
});

test.each([
  ["", "services", "/api/v1/services"],
  ["multicluster.x-k8s.io", "serviceexports", V1BETA1_EXPORTS],
])(
  "after 403 for the API group %j and %s it logs the missing RBAC rule, yields no partial snapshot, and recovers",
  async (group, resource, path) => {
    api.refuse.set(path, 403);
    start();
    await until(() => expect(errors.length).toBeGreaterThan(0));
    expect(errors[0]).toMatchObject({ code: "RBAC_FORBIDDEN", permanent: true });
    const rule = { apiGroups: [group], resources: [resource], verbs: ["list", "watch"] };
    expect(errors[0]!.message).toContain(JSON.stringify(rule));
    expect([source.complete, pushed]).toEqual([false, []]);
    const name = group === "" ? resource : `${resource}.${group}`;
    await until(() => expect(problems()).toEqual([`RBAC_FORBIDDEN ${name}`]));
    api.refuse.clear();
    await becomes("abcde");
    await until(() => expect(problems(soon())).toEqual([]));
  },
);

test.each(["/api/v1/services", "/api/v1/nodes"])(
  "403 for %s from a restarted API server passes soon, and no change is lost",
  async (path) => {
    api.put("/api/nodes", node("n1", { "topology.kubernetes.io/region": "eu" }));
    const never = { first: 3_600_000, most: 3_600_000 };
    start({ times: { backoff: { first: 100, most: 1000 }, slowBackoff: never } });
    await becomes("abcde");
    api.refuse.set(path, 403);
    api.closeWatches("destroy");
    await until(() => expect(errors.filter(({ code }) => code === "RBAC_FORBIDDEN")).not.toHaveLength(0));
    expect(logs.lines.filter((line) => line.startsWith("error"))).toEqual([]);
    expect(assembler.snapshot()).toMatchObject({ topology: { region: "eu" } });
    api.refuse.clear();
    api.put("/api/nodes", node("n1", { "topology.kubernetes.io/region": "us" }));
    api.remove("/api/services", "shop/a");
    await becomes("bcde");
    await until(() => expect(assembler.snapshot().topology).toEqual({ region: "us" }));
  },
);

test("after 403 for a watch only, the list counts, later changes wait, the log has the missing rule, and the problem lasts over all attempts", async () => {
  const services = "/api/v1/services";
  api.refuseWatches.set(services, 403);
  start();
  await becomes("abcde");
  await until(() =>
    expect(logs.lines).toContainEqual(
      expect.stringMatching(/^error: RBAC forbids to list and watch services/),
    ),
  );
  const requests = api.seen.length;
  await until(() => {
    expect(problems()).toEqual(["RBAC_FORBIDDEN services"]);
    expect(api.seen.length).toBeGreaterThan(requests + 20);
  });
  api.remove("/api/services", "shop/a");
  api.remove(EXPORTS, "shop/b");
  await becomes("acde");
  api.refuseWatches.clear();
  await becomes("cde");
});

test("credentials that the API server rejects are a problem of no resource", async () => {
  await follow();
  for (const path of ["/api/v1/namespaces", "/api/v1/services"]) api.refuse.set(path, 401);
  api.closeWatches("end");
  await until(() => expect(problems()).toEqual(["API_UNAUTHENTICATED", "API_UNAUTHENTICATED"]));
});

test("works without nodes, but without a topology; they are a problem where their addresses are exported", async () => {
  api.put("/api/nodes", node("n1", { "topology.kubernetes.io/region": "eu" }));
  api.refuse.set("/api/v1/nodes", 403);
  start();
  await becomes("abcde");
  expect(assembler.snapshot()).not.toHaveProperty("topology");
  expect(logs.lines.some((line) => line.startsWith("warn: RBAC forbids to list and watch nodes"))).toBe(true);
  expect(errors).toEqual([]);
  expect(problems(soon())).toEqual([]);
  api.refuse.clear();
  await until(() => expect(assembler.snapshot().topology).toEqual({ region: "eu" }));
  await world.stop();
  start({ nodeAddresses: true });
  await becomes("abcde");
  api.refuse.set("/api/v1/nodes", 403);
  api.closeWatches("end");
  await until(() => expect(problems()).toEqual(["RBAC_FORBIDDEN nodes"]));
});

test("sends no request after a stop in the middle of a list", async () => {
  const held = Promise.withResolvers<void>();
  api.beforePage = () => held.promise;
  // Discovery goes on by itself: a request of it that is on its way would arrive after the stop.
  start({ times: { discovery: 3_600_000 } });
  for (const list of ["services", "endpointslices", "serviceexports", "serviceimports"])
    await until(() => expect(api.seen.filter((url) => url.includes(`/${list}?`)).length).toBe(1));
  await world.stop();
  held.resolve();
  api.seen.length = 0;
  await new Promise((resolve) => setImmediate(resolve));
  expect(api.seen).toEqual([]);
  expect(source.complete).toBe(false);
});
