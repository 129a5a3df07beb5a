import { join } from "node:path";
import { expect, test } from "vitest";
import { INSTANCE_NAME } from "../../src/snapshot/schema.ts";
import {
  ClusterInstance,
  folderInstance,
  type SyncSource,
  type SyncWorkerOptions,
} from "../../src/worker/sync.ts";
import { namespace, service } from "../extract/objects.ts";
import { until } from "../until.ts";
import { WorkerWorld } from "./worker-world.ts";

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

test("a worker names what it reads with each request", async () => {
  const world = new WorkerWorld();
  const api = await world.startApi();
  api.put("/api/namespaces", kubeSystem("1"));
  const gateway = await world.startGateway();
  world.write("web.yaml", "apiVersion: v1\nkind: Service\nmetadata: { name: web, namespace: shop }\n");
  const { folder, kubeconfig } = world;

  /** The instances of all requests of a worker from its start to its stop, without repetitions. */
  async function sentBy(source: SyncSource, more: Partial<SyncWorkerOptions> = {}): Promise<unknown[]> {
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

  const cluster = { kind: "kubernetes", kubeconfig } as const;
  const manifests = { kind: "manifests", directory: folder, watch: true } as const;
  expect(await sentBy(cluster)).toEqual([nameOf(kubeSystem("1"))]);
  expect(gateway.verbs).toEqual(expect.arrayContaining(["PUT snapshot", "POST lease"]));
  expect(await sentBy(cluster, { once: true })).toEqual([nameOf(kubeSystem("1"))]);
  expect(await sentBy(manifests)).toEqual([folderInstance(folder)]);
  expect(await sentBy(manifests, { instance: "own" })).toEqual(["own"]);
  // Jobs that push a folder once run anywhere.
  expect(await sentBy({ ...manifests, watch: false }, { once: true })).toEqual([null]);
});
