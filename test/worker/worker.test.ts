import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSyncWorker, type SyncWorkerOptions } from "../../src/worker/sync.ts";
import { until } from "../until.ts";
import { GatewayDouble } from "./gateway-double.ts";
import { KeptLogs } from "./logs.ts";

let folder: string;
let gateways: GatewayDouble[];
let stop: AbortController;
let logs: KeptLogs;
let running: Promise<void> | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "worker-"));
  gateways = [await new GatewayDouble().start(), await new GatewayDouble().start()];
  stop = new AbortController();
  logs = new KeptLogs();
  await write(80);
});

afterEach(async () => {
  stop.abort();
  await running?.catch(() => undefined);
  running = undefined;
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await rm(folder, { recursive: true });
});

const write = (port: number) =>
  writeFile(
    join(folder, "web.yaml"),
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

async function work(more: Partial<SyncWorkerOptions> = {}): Promise<void> {
  return openSyncWorker({
    source: { kind: "manifests", directory: folder, watch: true },
    clusterId: "east",
    gateways: gateways.map(({ url }) => url),
    token: "secret",
    once: false,
    signal: stop.signal,
    logger: logs,
    backoff: { first: 5, most: 20 },
    ...more,
  }).run();
}

const portAt = (gateway: GatewayDouble) =>
  gateway.held.get("east")?.snapshot.exports["shop/web"]?.ports[0]?.port;
const reaches = (gateway: GatewayDouble, port: number) => until(() => expect(portAt(gateway)).toBe(port));

test("once: ends when every gateway has acknowledged; the cluster stays", async () => {
  await work({ once: true });
  expect(gateways.map(portAt)).toEqual([80, 80]);
});

test("once: pushes the cluster's Services and pods if the cluster has its own zone", async () => {
  await writeFile(
    join(folder, "pod.yaml"),
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
  ["no cluster id", /--cluster-id/, () => ({ clusterId: undefined as unknown as string })],
  [
    "no directory",
    /cannot be read: ENOENT/,
    () => ({ source: { kind: "manifests", directory: `${folder}/none`, watch: false } }),
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

const breakFile = () => writeFile(join(folder, "broken.yaml"), "kind: [unclosed\n");

test("once: a broken file is an error with its line, and nothing is pushed unless that is allowed", async () => {
  await breakFile();
  const broken = {
    code: "MANIFEST_BROKEN",
    message: expect.stringMatching(/broken\.yaml:2:1: .*nothing is pushed/),
  };
  await expect(work({ once: true })).rejects.toMatchObject(broken);
  expect(gateways.flatMap(({ seen }) => seen)).toEqual([]);
  const source = { kind: "manifests", directory: folder, watch: false, allowBroken: true } as const;
  await work({ once: true, source });
  expect(gateways.map(portAt)).toEqual([80, 80]);
});

test("a worker that starts with a broken file pushes nothing until the folder reads whole, and says both", async () => {
  await breakFile();
  running = work();
  await until(() =>
    expect(logs.lines.join("\n")).toMatch(/^error: broken\.yaml:2:1: .*; nothing is pushed/m),
  );
  await write(8080);
  await writeFile(join(folder, "more.yaml"), "");
  expect(gateways.flatMap(({ seen }) => seen)).toEqual([]);
  await rm(join(folder, "broken.yaml"));
  await reaches(gateways[0]!, 8080);
  expect(logs.lines).toContain("info: broken.yaml: its problems are gone, and its content counts");
  // From now on the last good content counts, and a file that never had any holds nothing back.
  await breakFile();
  await until(() =>
    expect(logs.lines.join("\n")).toMatch(/^warn: broken\.yaml:.*; nothing of the file counts until/m),
  );
  await write(9090);
  await reaches(gateways[0]!, 9090);
});

test("once: a rejection by one gateway is an error although the other acknowledged", async () => {
  gateways[1]!.error = () => ({ status: 403, code: "OTHER_CLUSTER" });
  await expect(work({ once: true })).rejects.toMatchObject({ code: "OTHER_CLUSTER" });
  expect(portAt(gateways[0]!)).toBe(80);
});

test("once: the signal ends the worker", async () => {
  stop.abort();
  await expect(work({ once: true })).rejects.toThrow(/stopped before/);
});

test("changes reach every gateway; one that is down does not block the others, and catches up", async () => {
  const [up, down] = gateways as [GatewayDouble, GatewayDouble];
  await down.stop();
  running = work();
  await reaches(up, 80);
  await write(8080);
  await reaches(up, 8080);
  expect(up.verbs).toEqual(["PUT snapshot", "PATCH snapshot"]);
  await down.start();
  await reaches(down, 8080);
  expect(down.verbs[0]).toBe("PUT snapshot");
});

test("after a stop the cluster stays until its lease expires; it leaves at once only if configured", async () => {
  running = work();
  await Promise.all(gateways.map((gateway) => reaches(gateway, 80)));
  stop.abort();
  await running;
  expect(gateways.map(({ held }) => held.size)).toEqual([1, 1]);

  stop = new AbortController();
  logs.lines.length = 0;
  running = work({ leaveOnExit: true });
  await until(() =>
    expect(logs.lines.filter((line) => line.includes("snapshot acknowledged")).length).toBe(2),
  );
  stop.abort();
  await running;
  expect(gateways.map(({ held }) => held.size)).toEqual([0, 0]);
});
