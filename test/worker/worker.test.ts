import { rmSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { Report } from "../../src/snapshot/report.ts";
import { INSTANCE_NAME } from "../../src/snapshot/schema.ts";
import { ManifestSource } from "../../src/worker/manifest-source.ts";
import { type ObjectSource, toDegradations } from "../../src/worker/object-source.ts";
import { Failures } from "../../src/worker/pacing.ts";
import type { SyncWorkerOptions } from "../../src/worker/sync.ts";
import { namespace, service } from "../extract/objects.ts";
import { until } from "../until.ts";
import type { GatewayDouble } from "./gateway-double.ts";
import { KeptLogs } from "./logs.ts";
import { bothYaml, WorkerWorld } from "./worker-world.ts";

let world: WorkerWorld;
let gateways: GatewayDouble[];
let logs: KeptLogs;

beforeEach(async () => {
  world = new WorkerWorld();
  ({ gateways, logs } = world);
  for (let count = 0; count < 2; count++) await world.startGateway();
  write(80);
});

const write = (port: number) => world.write("web.yaml", bothYaml("web", port));

async function work(more: Partial<SyncWorkerOptions>, signal?: AbortSignal): Promise<void> {
  return world.work({ source: world.manifests(), backoff: { first: 5, most: 20 }, ...more }, signal);
}
const start = (more: Partial<SyncWorkerOptions> = {}) => world.run((signal) => work(more, signal));

const portAt = (gateway: GatewayDouble) =>
  gateway.held.get("east")?.snapshot.exports["shop/web"]?.ports[0]?.port;
const reaches = (gateway: GatewayDouble, port: number) => until(() => expect(portAt(gateway)).toBe(port));

test("once: ends when every gateway has acknowledged, with an error if one rejects; the cluster stays", async () => {
  await work({ once: true });
  expect(gateways.map(portAt)).toEqual([80, 80]);
  gateways[1]!.error = () => ({ status: 403, code: "OTHER_CLUSTER" });
  write(81);
  await expect(work({ once: true })).rejects.toMatchObject({ code: "OTHER_CLUSTER" });
  expect(gateways.map(portAt)).toEqual([81, 80]);
  await expect(work({ once: true }, AbortSignal.abort())).rejects.toThrow(/stopped before/);
});

test("once: pushes the cluster's Services and pods if the cluster has its own zone", async () => {
  world.write(
    "pod.yaml",
    "apiVersion: v1\nkind: Pod\nmetadata: { name: web-0, namespace: shop }\nstatus: { podIP: 10.0.0.1 }\n",
  );
  const pushed = async (more?: Partial<SyncWorkerOptions>) => {
    await work({ once: true, ...more });
    const { clusterZone, services, pods } = gateways[0]!.held.get("east")!.snapshot;
    return { clusterZone, services: Object.keys(services), pods };
  };
  const clusterZone = { name: "cluster.local", pods: "verified" } as const;
  expect(await pushed()).toEqual({ clusterZone: undefined, services: [], pods: {} });
  const whole = { clusterZone, services: ["shop/web"], pods: { "shop/10.0.0.1": {} } };
  expect(await pushed({ clusterZone })).toEqual(whole);
});

test.each<[string, RegExp, Partial<SyncWorkerOptions>]>([
  ["no cluster id", /--cluster-id/, { clusterId: undefined }],
  [
    "no directory",
    /cannot be read: ENOENT/,
    { source: new ManifestSource({ directory: "/none", watch: false, logger: new KeptLogs() }) },
  ],
  ["an unreachable gateway", /cannot be reached: .*ECONNREFUSED/, { gateways: ["http://127.0.0.1:1"] }],
  ["a gateway that is not a URL", /Invalid URL/, { gateways: ["here"] }],
])("once: %s is an error with the reason", async (_, message, more) => {
  await expect(work({ once: true, ...more })).rejects.toThrow(message);
});

const breakFile = () => world.write("broken.yaml", "kind: [unclosed\n");

test("once: a broken file is an error with its line, and nothing is pushed unless that is allowed", async () => {
  breakFile();
  const message = expect.stringMatching(/broken\.yaml:2:1: .*nothing is pushed/);
  await expect(work({ once: true })).rejects.toMatchObject({ code: "MANIFEST_BROKEN", message });
  expect(gateways.flatMap(({ seen }) => seen)).toEqual([]);
  const source = world.manifests({ watch: false, allowBroken: true });
  await work({ once: true, source });
  expect(gateways.map(portAt)).toEqual([80, 80]);
});

test("a worker that starts with a broken file pushes nothing until the folder reads whole, and says both", async () => {
  breakFile();
  start();
  await until(() =>
    expect(logs.lines.join("\n")).toMatch(/^error: broken\.yaml:2:1: .*; nothing is pushed/m),
  );
  write(8080);
  world.write("more.yaml", "");
  expect(gateways.flatMap(({ seen }) => seen)).toEqual([]);
  rmSync(join(world.folder, "broken.yaml"));
  await reaches(gateways[0]!, 8080);
  expect(logs.lines).toContain("info: broken.yaml: its problems are gone, and its content counts");
  // From now on the last good content counts, and a file that never had any holds nothing back.
  breakFile();
  await until(() =>
    expect(logs.lines.join("\n")).toMatch(/^warn: broken\.yaml:.*; nothing of the file counts until/m),
  );
  write(9090);
  await reaches(gateways[0]!, 9090);
});

test("changes reach every gateway; one that is down does not block the others, and catches up; after a stop the cluster stays", async () => {
  const [up, down] = gateways as [GatewayDouble, GatewayDouble];
  await down.stop();
  start();
  await reaches(up, 80);
  write(8080);
  await reaches(up, 8080);
  expect(up.verbs).toEqual(["PUT snapshot", "PATCH snapshot"]);
  await down.start();
  await reaches(down, 8080);
  expect(down.verbs[0]).toBe("PUT snapshot");
  await world.stop();
  expect(gateways.map(({ held }) => held.size)).toEqual([1, 1]);
});

const kubeSystem = (uid: string) => namespace("kube-system", { uid });
const kubernetes = (uid: string) => {
  const { metadata, ...rest } = service("default/kubernetes");
  return { ...rest, metadata: { ...metadata, uid } };
};

/** The name of a cluster with these objects. */
async function nameOf(objects: Readonly<Record<string, { metadata?: object }[]>>) {
  const cluster = new WorkerWorld();
  const api = await cluster.startApi();
  for (const [path, all] of Object.entries(objects)) for (const one of all) api.put(path, one);
  const source = cluster.cluster();
  const complete = Promise.withResolvers<void>();
  const changed = () => source.complete && complete.resolve();
  cluster.run((signal) => source.run({ upsert() {}, delete() {}, changed, failed() {} }, signal));
  await complete.promise;
  return source.instance;
}

test("a cluster's name comes from the UID of kube-system, else from that of default/kubernetes; a folder has one however it is written", async () => {
  const [namespaces, services] = ["/api/namespaces", "/api/services"];
  const others = {
    [namespaces]: [namespace("shop", { uid: "1" })],
    [services]: [service("shop/kubernetes")],
  };
  expect(await nameOf(others)).toBeUndefined();
  const name = await nameOf({ [namespaces]: [kubeSystem("1")] });
  expect(name).toMatch(INSTANCE_NAME);
  expect(name).not.toContain("1");
  expect(await nameOf({ [namespaces]: [kubeSystem("1")], [services]: [kubernetes("2")] })).toBe(name);
  const names = [
    name,
    await nameOf({ [namespaces]: [kubeSystem("2")] }),
    await nameOf({ [services]: [kubernetes("1")] }),
    await nameOf({ [services]: [kubernetes("2")] }),
  ];
  expect(new Set(names).size).toBe(4);
  const folderName = (directory: string) => world.manifests({ directory }).instance;
  expect(folderName(join(process.cwd(), "east"))).toBe(folderName("./east/"));
  expect(folderName("east")).not.toBe(folderName("west"));
});

test("a worker names what it reads with each request", async () => {
  const api = await world.startApi();
  api.put("/api/namespaces", kubeSystem("1"));
  const [gateway] = gateways as [GatewayDouble];

  /** The instances of all requests of a worker from its start to its stop, without repetitions. */
  async function sentBy(source: ObjectSource, more: Partial<SyncWorkerOptions> = {}): Promise<unknown[]> {
    gateway.seen.length = 0;
    const options = { source, leaseSeconds: 0.03, ...more };
    if (more.once === true) await world.work(options);
    else {
      world.run((signal) => world.work(options, signal));
      await until(() => expect(gateway.verbs).toContain("POST lease"));
      await world.stop();
    }
    const instances = gateway.seen.map(({ path }) => new URL(path, gateway.url).searchParams.get("instance"));
    return [...new Set(instances)];
  }

  const name = await nameOf({ "/api/namespaces": [kubeSystem("1")] });
  expect(await sentBy(world.cluster())).toEqual([name]);
  expect(gateway.verbs).toEqual(expect.arrayContaining(["PUT snapshot", "POST lease"]));
  expect(await sentBy(world.cluster(), { once: true })).toEqual([name]);
  expect(await sentBy(world.manifests())).toEqual([world.manifests().instance]);
  expect(await sentBy(world.manifests(), { instance: "own" })).toEqual(["own"]);
  // Jobs that push a folder once run anywhere.
  expect(await sentBy(world.manifests({ watch: false }), { once: true })).toEqual([null]);
});

test("a report of problems has each code once, with its first begin, one subject and how many there are, and is valid for a gateway", () => {
  const problems = [
    { code: "RBAC_FORBIDDEN", since: 9000, subject: "services" },
    { code: "API_UNREACHABLE", since: 4000 },
    { code: "RBAC_FORBIDDEN", since: 7000, subject: "nodes" },
    { code: "API_UNREACHABLE", since: 5000 },
  ];
  expect(toDegradations(problems, 10_000)).toEqual([
    { reason: "RBAC_FORBIDDEN", seconds: 3, subject: "nodes", count: 2 },
    { reason: "API_UNREACHABLE", seconds: 6 },
  ]);
  const many = Array.from({ length: 5000 }, (_, index) => ({
    code: `CODE_${index % 13}`,
    since: 0,
    subject: `${"größe/".repeat(index % 40)}${index}.yaml`,
  }));
  expect(Report.safeParse({ degraded: toDegradations(many, 1e9) }).success).toBe(true);
});

const [GONE, FORBIDDEN] = ["API_UNREACHABLE", "RBAC_FORBIDDEN"];

test.each<[string, events: Record<number, string>, now: number, code?: string]>([
  ["are no problem for 5 seconds", { 0: GONE }, 4999],
  ["are one after that, which begins with the first one", { 0: GONE, 3000: GONE }, 5000, GONE],
  ["keep their code while another one is new", { 0: GONE, 8000: FORBIDDEN }, 12_999, GONE],
  ["take another code once it lasts", { 0: GONE, 8000: FORBIDDEN, 10000: FORBIDDEN }, 13_000, FORBIDDEN],
  ["keep their code when it comes back", { 0: GONE, 8000: FORBIDDEN, 9000: GONE }, 20_000, GONE],
  ["end when it works, and begin anew after that", { 0: GONE, 6000: "over", 7000: GONE }, 11_999],
])("failures of a resource %s", (_, events, now, code) => {
  const failures = new Failures(5000);
  for (const [moment, event] of Object.entries(events)) {
    failures.problem(Number(moment));
    if (event === "over") failures.over();
    else failures.failed(event, Number(moment));
  }
  expect(failures.problem(now)).toEqual(code && { code, since: 0 });
});
