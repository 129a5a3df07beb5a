import { rmSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import type { SyncWorkerOptions } from "../../src/worker/sync.ts";
import { until } from "../until.ts";
import type { GatewayDouble } from "./gateway-double.ts";
import type { KeptLogs } from "./logs.ts";
import { WorkerWorld } from "./worker-world.ts";

let world: WorkerWorld;
let gateways: GatewayDouble[];
let logs: KeptLogs;

beforeEach(async () => {
  world = new WorkerWorld();
  ({ gateways, logs } = world);
  for (let count = 0; count < 2; count++) await world.startGateway();
  write(80);
});

const write = (port: number) =>
  world.write(
    "web.yaml",
    `apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { ports: [{ port: ${port} }] }
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: { name: web, namespace: shop }
`,
  );

async function work(more: Partial<SyncWorkerOptions>, signal?: AbortSignal): Promise<void> {
  const source = { kind: "manifests", directory: world.folder, watch: true } as const;
  return world.work({ source, backoff: { first: 5, most: 20 }, ...more }, signal);
}
const start = (more: Partial<SyncWorkerOptions> = {}) => world.run((signal) => work(more, signal));

const portAt = (gateway: GatewayDouble) =>
  gateway.held.get("east")?.snapshot.exports["shop/web"]?.ports[0]?.port;
const reaches = (gateway: GatewayDouble, port: number) => until(() => expect(portAt(gateway)).toBe(port));

test("once: ends when every gateway has acknowledged; the cluster stays", async () => {
  await work({ once: true });
  expect(gateways.map(portAt)).toEqual([80, 80]);
});

test("once: pushes the cluster's Services and pods if the cluster has its own zone", async () => {
  world.write(
    "pod.yaml",
    "apiVersion: v1\nkind: Pod\nmetadata: { name: web-0, namespace: shop }\nstatus: { podIP: 10.0.0.1 }\n",
  );
  const reported = () => gateways[0]!.held.get("east")!.snapshot;
  await work({ once: true });
  expect(reported()).toMatchObject({ services: {}, pods: {} });
  expect(reported()).not.toHaveProperty("clusterZone");
  const clusterZone = { name: "cluster.local", pods: "verified" } as const;
  await work({ once: true, clusterZone });
  expect(reported()).toMatchObject({ clusterZone, pods: { "shop/10.0.0.1": {} } });
  expect(Object.keys(reported().services)).toEqual(["shop/web"]);
});

test.each<[string, RegExp, () => Partial<SyncWorkerOptions>]>([
  ["no cluster id", /--cluster-id/, () => ({ clusterId: undefined })],
  [
    "no directory",
    /cannot be read: ENOENT/,
    () => ({ source: { kind: "manifests", directory: `${world.folder}/none`, watch: false } }),
  ],
  [
    "an unreachable gateway",
    /cannot be reached: .*ECONNREFUSED/,
    () => ({ gateways: ["http://127.0.0.1:1"] }),
  ],
  ["a gateway that is not a URL", /Invalid URL/, () => ({ gateways: ["here"] })],
  [
    "a missing kubeconfig",
    /the kubeconfig .* does not exist/,
    () => ({ source: { kind: "kubernetes", kubeconfig: "/none" } }),
  ],
])("once: %s is an error with the reason", async (_, message, more) => {
  await expect(work({ once: true, ...more() })).rejects.toThrow(message);
});

const breakFile = () => world.write("broken.yaml", "kind: [unclosed\n");

test("once: a broken file is an error with its line, and nothing is pushed unless that is allowed", async () => {
  breakFile();
  const broken = {
    code: "MANIFEST_BROKEN",
    message: expect.stringMatching(/broken\.yaml:2:1: .*nothing is pushed/),
  };
  await expect(work({ once: true })).rejects.toMatchObject(broken);
  expect(gateways.flatMap(({ seen }) => seen)).toEqual([]);
  const source = { kind: "manifests", directory: world.folder, watch: false, allowBroken: true } as const;
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

test("once: a rejection by one gateway is an error although the other acknowledged", async () => {
  gateways[1]!.error = () => ({ status: 403, code: "OTHER_CLUSTER" });
  await expect(work({ once: true })).rejects.toMatchObject({ code: "OTHER_CLUSTER" });
  expect(portAt(gateways[0]!)).toBe(80);
});

test("once: the signal ends the worker", async () => {
  await expect(work({ once: true }, AbortSignal.abort())).rejects.toThrow(/stopped before/);
});

test("changes reach every gateway; one that is down does not block the others, and catches up", async () => {
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
});

test("after a stop the cluster stays until its lease expires", async () => {
  start();
  await Promise.all(gateways.map((gateway) => reaches(gateway, 80)));
  await world.stop();
  expect(gateways.map(({ held }) => held.size)).toEqual([1, 1]);
});
