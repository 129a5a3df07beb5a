import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { INSTANCE_NAME } from "../../src/snapshot/schema.ts";
import {
  ClusterInstance,
  folderInstance,
  openSyncWorker,
  type SyncSource,
  type SyncWorkerOptions,
} from "../../src/worker/sync.ts";
import { namespace, service } from "../extract/objects.ts";
import { until } from "../until.ts";
import { ApiServerDouble } from "./api-server-double.ts";
import { GatewayDouble } from "./gateway-double.ts";
import { KeptLogs } from "./logs.ts";

const kubeSystem = (uid: string) => namespace("kube-system", { uid });
const kubernetes = (uid: string) => {
  const { metadata, ...rest } = service("default/kubernetes");
  return { ...rest, metadata: { ...metadata, uid } };
};

function nameOf(...objects: Parameters<ClusterInstance["see"]>[0][]): string | undefined {
  const instance = new ClusterInstance();
  for (const object of objects) instance.see(object);
  return instance.name;
}

test("a cluster's name comes from the UID of kube-system, else from that of default/kubernetes", () => {
  expect(nameOf(namespace("shop", { uid: "1" }), service("shop/kubernetes"))).toBeUndefined();
  const name = nameOf(kubeSystem("1"));
  expect(name).toMatch(INSTANCE_NAME);
  expect(nameOf(kubernetes("2"), kubeSystem("1"), kubernetes("3"))).toBe(name);
  expect(
    new Set([name, nameOf(kubeSystem("2")), nameOf(kubernetes("1")), nameOf(kubernetes("2"))]).size,
  ).toBe(4);
  expect(name).not.toContain("1");
});

test("a folder has one name however it is written, and another one has another", () => {
  expect(folderInstance(join(process.cwd(), "east"))).toBe(folderInstance("./east/"));
  expect(folderInstance("east")).not.toBe(folderInstance("west"));
});

let folder: string;
let api: ApiServerDouble;
let gateway: GatewayDouble;
let stop: AbortController;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "instance-"));
  api = await new ApiServerDouble().start();
  api.put("/api/namespaces", kubeSystem("1"));
  gateway = await new GatewayDouble().start();
  stop = new AbortController();
  await writeFile(join(folder, "kubeconfig"), api.kubeconfig);
  await writeFile(
    join(folder, "web.yaml"),
    "apiVersion: v1\nkind: Service\nmetadata: { name: web, namespace: shop }\n",
  );
});
afterEach(async () => {
  await Promise.all([api.stop(), gateway.stop()]);
  await rm(folder, { recursive: true });
});

/** The instances of all requests of a worker from its start to its leave, without repetitions. */
async function sentBy(source: SyncSource, more: Partial<SyncWorkerOptions> = {}): Promise<unknown[]> {
  gateway.seen.length = 0;
  const worker = openSyncWorker({
    source,
    clusterId: "east",
    gateways: [gateway.url],
    token: "secret",
    once: false,
    leaveOnExit: true,
    leaseSeconds: 0.03,
    signal: stop.signal,
    logger: new KeptLogs(),
    ...more,
  });
  const running = worker.run();
  if (more.once !== true) {
    await until(() => expect(gateway.verbs).toContain("POST lease"));
    stop.abort();
    stop = new AbortController();
  }
  await running;
  return [
    ...new Set(gateway.seen.map(({ path }) => new URL(path, gateway.url).searchParams.get("instance"))),
  ];
}

test("a worker names what it reads with each request", async () => {
  const kubeconfig = join(folder, "kubeconfig");
  const cluster = { kind: "kubernetes", kubeconfig } as const;
  const manifests = { kind: "manifests", directory: folder, watch: true } as const;
  expect(await sentBy(cluster)).toEqual([nameOf(kubeSystem("1"))]);
  expect(gateway.verbs).toEqual(expect.arrayContaining(["PUT snapshot", "POST lease", "DELETE east"]));
  expect(await sentBy(cluster, { once: true })).toEqual([nameOf(kubeSystem("1"))]);
  expect(await sentBy(manifests)).toEqual([folderInstance(folder)]);
  expect(await sentBy(manifests, { instance: "own" })).toEqual(["own"]);
  // Jobs that push a folder once run anywhere.
  expect(await sentBy({ ...manifests, watch: false }, { once: true })).toEqual([null]);
});
