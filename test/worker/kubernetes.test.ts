import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { SnapshotAssembler } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { KubernetesSource, type KubernetesSourceOptions } from "../../src/worker/kubernetes.ts";
import type { SourceError } from "../../src/worker/object-source.ts";
import { namespace, node, ofService, pod, service, serviceExport, slice } from "../extract/objects.ts";
import { until } from "../until.ts";
import type { ApiServerDouble } from "./api-server-double.ts";
import type { KeptLogs } from "./logs.ts";
import { WorkerWorld } from "./worker-world.ts";

const EXPORTS = "/apis/multicluster.x-k8s.io/serviceexports";
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
  source = new KubernetesSource(
    {
      kubeconfig: world.kubeconfig,
      clusterIdGiven: true,
      logger: logs,
      pageSize: 2,
      ...more,
      times: {
        discovery: 50,
        goneAfter: 60,
        backoff: { first: 10, most: 100 },
        slowBackoff: { first: 20, most: 100 },
        ...more.times,
      },
    },
    {
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
    },
  );
  world.run((signal) => source.run(signal));
}

function exports(): string {
  return Object.keys(assembler.snapshot().exports)
    .map((key) => key.slice("shop/".length))
    .join("");
}

const becomes = (expected: string) =>
  until(() => {
    expect([source.complete, exports()]).toEqual([true, expected]);
    expect(pushed.at(-1)).toBe(expected);
  });

const allWatched = () =>
  until(() =>
    expect([EXPORTS, SLICES, "/api/services", "/api/namespaces"].map((path) => api.watchers(path))).toEqual([
      1, 1, 1, 1,
    ]),
  );

const pages = (path: string) => api.seen.filter((url) => url.startsWith(path) && !url.includes("watch="));

test("lists page by page, reports nothing before all lists are complete, then follows the watches", async () => {
  start();
  await becomes("abcde");
  expect(pushed).toEqual(["abcde"]);
  expect(pages("/apis/multicluster.x-k8s.io/v1beta1/serviceexports").length).toBe(3);
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
  const kept = upserted.find(({ kind }) => kind === "Pod");
  expect(kept).toMatchObject({ apiVersion: "v1", metadata: { name: "a-0", namespace: "shop" } });
  expect(kept).toHaveProperty("status", {
    phase: "Running",
    podIP: "10.0.0.1",
    podIPs: [{ ip: "10.0.0.1" }],
  });
  for (const left of ["spec", "metadata.uid"]) expect(kept).not.toHaveProperty(left);

  await until(() => expect(api.watchers("/api/pods")).toBe(1));
  api.remove("/api/pods", "shop/a-0");
  await until(() => expect(assembler.snapshot().pods).toEqual({}));
  api.put("/api/pods", pod("shop/b-0", status));
  await until(() => expect(assembler.snapshot().pods).toEqual({ "shop/10.0.0.1": {} }));
});

test("requests bookmarks and resumes the watch from them", async () => {
  start();
  await becomes("abcde");
  await allWatched();
  api.send(EXPORTS, "BOOKMARK", { metadata: { resourceVersion: "999" } });
  await until(() => expect(api.watchers(EXPORTS)).toBe(1));
  api.closeWatches("end");
  const goesOn = /serviceexports\?watch=true&resourceVersion=999&allowWatchBookmarks=true/;
  await until(() => expect(api.seen.some((url) => goesOn.test(url))).toBe(true));
});

test("yields no snapshot while one resource is still being listed", async () => {
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

test.each(["end", "destroy"] as const)(
  "a closed watch (%s) is opened again at the last resource version",
  async (how) => {
    start();
    await becomes("abcde");
    await allWatched();
    api.closeWatches(how);
    api.remove(EXPORTS, "shop/c");
    await becomes("abde");
    expect(pages("/apis/multicluster.x-k8s.io/v1beta1/serviceexports").length).toBe(3);
  },
);

test.each(["of another watch", "in a stream that stays open"])(
  "after 410 Gone %s it lists again, notices deletions, and yields no partial snapshot",
  async (where) => {
    start();
    await becomes("abcde");
    await allWatched();
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

test("keeps the state while the API server restarts, then follows it", async () => {
  start();
  await becomes("abcde");
  await allWatched();
  await api.stop();
  await until(() => expect(errors.some(({ code }) => code === "API_UNREACHABLE")).toBe(true));
  expect(exports()).toBe("abcde");
  const confirmed = source.lastConfirmed()!;
  // During its start it serves no CRDs, and is not ready.
  const versions = api.served.get("multicluster.x-k8s.io")!;
  api.served.delete("multicluster.x-k8s.io");
  api.ready = false;
  await api.start();
  const rounds = () => api.seen.filter((url) => url === "/apis").length;
  const before = rounds();
  await until(() => expect(rounds()).toBeGreaterThan(before + 3));
  expect(exports()).toBe("abcde");
  api.served.set("multicluster.x-k8s.io", versions);
  api.ready = true;
  api.remove(EXPORTS, "shop/a");
  await becomes("bcde");
  expect(pushed).toEqual(["abcde", "bcde"]);
  await until(() => expect(source.lastConfirmed()!).toBeGreaterThan(confirmed));
});

test("a change of the wall clock does not affect the time of the last confirmation", async () => {
  vi.spyOn(Date, "now").mockReturnValue(Date.now() + 86_400_000);
  onTestFinished(() => void vi.restoreAllMocks());
  start();
  await becomes("abcde");
  expect(source.lastConfirmed()).toBeLessThanOrEqual(performance.now());
});

test("lists again if the API server does not know the resource version, as after a restored backup", async () => {
  start();
  await becomes("abcde");
  await allWatched();
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

test("ignores the API group of KEP-1645's examples, and logs the right one once", async () => {
  api.served.set("multicluster.k8s.io", ["v1alpha1"]);
  api.put("/apis/multicluster.k8s.io/serviceexports", serviceExport("shop/z"));
  start({ times: { discovery: 5 } });
  await becomes("abcde");
  await until(() => expect(pages("/apis").length).toBeGreaterThan(4));
  const lines = logs.lines.filter((line) => line.includes("multicluster.k8s.io, which is not read"));
  expect(lines).toEqual([expect.stringMatching(/^warn: .*multicluster\.x-k8s\.io/)]);
});

test("reads GKE's API group, too", async () => {
  api.served.clear();
  api.served.set("net.gke.io", ["v1"]);
  api.put("/apis/net.gke.io/serviceexports", serviceExport("shop/b", {}, {}, "net.gke.io/v1"));
  start();
  await becomes("b");
});

test.each(["/api/v1/services", "/apis/multicluster.x-k8s.io/v1beta1/serviceexports"])(
  "after 403 for %s it logs the missing RBAC rule, yields no partial snapshot, and recovers",
  async (path) => {
    api.refuse.set(path, 403);
    start();
    await until(() => expect(errors.length).toBeGreaterThan(0));
    expect(errors[0]).toMatchObject({ code: "RBAC_FORBIDDEN", permanent: true });
    const group = /^\/apis\/([^/]+)/.exec(path)?.[1] ?? "";
    const rule = { apiGroups: [group], resources: [path.split("/").pop()], verbs: ["list", "watch"] };
    expect(errors[0]!.message).toContain(JSON.stringify(rule));
    expect([source.complete, pushed]).toEqual([false, []]);
    api.refuse.clear();
    await becomes("abcde");
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

test("after 403 for a watch only, the list counts, later changes wait, and the log has the missing rule", async () => {
  const services = "/api/v1/services";
  api.refuseWatches.set(services, 403);
  start();
  await becomes("abcde");
  await until(() =>
    expect(logs.lines).toContainEqual(
      expect.stringMatching(/^error: RBAC forbids to list and watch services/),
    ),
  );
  api.remove("/api/services", "shop/a");
  api.remove(EXPORTS, "shop/b");
  await becomes("acde");
  api.refuseWatches.clear();
  await becomes("cde");
});

test("works without nodes, but without a topology", async () => {
  api.put("/api/nodes", node("n1", { "topology.kubernetes.io/region": "eu" }));
  api.refuse.set("/api/v1/nodes", 403);
  start();
  await becomes("abcde");
  expect(assembler.snapshot()).not.toHaveProperty("topology");
  expect(logs.lines.some((line) => line.startsWith("warn: RBAC forbids to list and watch nodes"))).toBe(true);
  expect(errors).toEqual([]);
  expect(source.problems(performance.now() + 10_000)).toEqual([]);
  api.refuse.clear();
  await until(() => expect(assembler.snapshot().topology).toEqual({ region: "eu" }));
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
