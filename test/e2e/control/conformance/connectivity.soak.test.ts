import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../harness/answers.ts";
import { type KubeObject, namespace, service, serviceExport } from "../../servers/kubernetes/objects.ts";
import { waitFor } from "../../servers/wait.ts";
import { lookAt } from "../objects.ts";
import type { ClusterName } from "./clusters.ts";
import { type IsolatedCluster, type IsolatedClusters, startIsolatedClusters } from "./connections.ts";
import { SERVER_PORT, serverPods } from "./pods.ts";

/**
 * With two clusters to choose from, all of them reach the same one by chance in one of eight million runs.
 */
const CONNECTIONS = 24;
const NAMES = ["cluster-a", "cluster-b"] as const;
/** Each cluster and each family. */
const clients = NAMES.flatMap((from) => (["A", "AAAA"] as const).map((type) => ({ from, type })));
let clusters: IsolatedClusters;
let a: IsolatedCluster;
let b: IsolatedCluster;

beforeAll(async () => {
  clusters = await startIsolatedClusters();
  [a, b] = [clusters.of("cluster-a"), clusters.of("cluster-b")];
  for (const { admin } of [a, b]) await admin.apply(namespace("shop"));
});

afterAll(() => clusters?.stop());

/** Runs a Service with two pods in a cluster, until its own address leads to both; returns that address. */
async function serve(cluster: ClusterName, name: string, port = { name: "http", port: 80 }): Promise<string> {
  const { admin, connect } = clusters.of(cluster);
  const spec = {
    selector: { app: name },
    ipFamilyPolicy: "RequireDualStack",
    ports: [{ ...port, targetPort: SERVER_PORT }],
  };
  // Pods are rejected until the namespace has its ServiceAccount.
  await waitFor(`pods of ${name}`, async () => admin.apply(...serverPods(cluster, "shop", name)));
  const [made] = (await admin.apply(service("shop", name, spec))) as [
    KubeObject & { spec: { clusterIP: string } },
  ];
  const { clusterIP } = made.spec;
  await eventually(() => connect(clusterIP, port.port, CONNECTIONS)).toEqual(podsOf(cluster, name));
  return clusterIP;
}

/** What the pods of `serve` answer. */
function podsOf(cluster: ClusterName, name: string): string[] {
  return [`${cluster} ${name}-0`, `${cluster} ${name}-1`];
}

/**
 * What answers the pods of a cluster at the service's name in the clusterset, or the error code of the name.
 */
async function reached(
  { from, type }: (typeof clients)[number],
  name: string,
  port = 80,
  times = CONNECTIONS,
): Promise<string[] | string> {
  const { resolve, connect } = clusters.of(from);
  const addresses = await resolve(`${name}.shop.svc.clusterset.local`, type);
  if (typeof addresses === "string") return addresses;
  return addresses.length === 1 ? connect(addresses[0]!, port, times) : addresses;
}

/** What the clients of both clusters reach before long, in both families. */
async function expectReached(name: string, port: number, expected: string[] | string): Promise<void> {
  for (const client of clients) await eventually(() => reached(client, name, port)).toEqual(expected);
}

/** Exports a service, in cluster-a a second before cluster-b, until each cluster has the conflict. */
async function exportInBoth(name: string): Promise<void> {
  const [older] = await a.admin.apply(serviceExport("shop", name));
  const from = Date.parse(older!.metadata.creationTimestamp as string);
  await waitFor("a later second", () => Date.now() >= from + 1100);
  await b.admin.apply(serviceExport("shop", name));
  for (const cluster of [a, b]) {
    const { condition, slices } = lookAt(cluster, "shop");
    await eventually(async () => (await condition(name, "Conflict"))?.reason).toBe("PortConflict");
    await eventually(() => slices(name)).not.toEqual([]);
  }
}

test("a service that is not exported has no name, and the other cluster does not reach its address", async () => {
  const address = await serve("cluster-a", "web");
  const [pod] = (await a.admin.apply(...serverPods("cluster-a", "shop", "web"))) as unknown as {
    status: { podIP: string };
  }[];
  expect(await b.connect(pod!.status.podIP, SERVER_PORT, 1)).toEqual(["cluster-a web-0"]);
  expect(await b.connect(address, 80, 1)).toEqual(["none"]);
  // Once the gateway answers this name, it knows of everything before it.
  const ports = [{ name: "http", port: 80 }];
  await a.admin.apply(service("shop", "later", { ports }), serviceExport("shop", "later"));
  for (const { resolve } of [a, b])
    await eventually(() => resolve("later.shop.svc.clusterset.local", "A")).toHaveLength(1);
  for (const client of clients) expect(await reached(client, "web")).toBe("ENOTFOUND");
});

test("an exported service is reached by its clusterset IP from both clusters, until the export is gone", async () => {
  await a.admin.apply(serviceExport("shop", "web"));
  await expectReached("web", 80, podsOf("cluster-a", "web"));
  const ips = (await b.resolve("web.shop.svc.clusterset.local", "A")) as string[];
  await a.admin.remove(serviceExport("shop", "web"));
  await eventually(() => b.connect(ips[0]!, 80, 1)).toEqual(["none"]);
  await expectReached("web", 80, "ENOTFOUND");
});

test("of Services in both clusters, connections reach those that are exported, and no others", async () => {
  await serve("cluster-a", "both");
  await serve("cluster-b", "both");
  await a.admin.apply(serviceExport("shop", "both"));
  await expectReached("both", 80, podsOf("cluster-a", "both"));
  await b.admin.apply(serviceExport("shop", "both"));
  await expectReached("both", 80, [...podsOf("cluster-a", "both"), ...podsOf("cluster-b", "both")]);
});

test("of one port name with two numbers, the older one's leads to its cluster alone, and the other one nowhere", async () => {
  await serve("cluster-a", "numbers", { name: "http", port: 80 });
  await serve("cluster-b", "numbers", { name: "http", port: 8000 });
  await exportInBoth("numbers");
  await expectReached("numbers", 80, podsOf("cluster-a", "numbers"));
  for (const client of clients) expect(await reached(client, "numbers", 8000, 1)).toEqual(["none"]);
});

test("of two port names, each port leads to the cluster that has it", async () => {
  await serve("cluster-a", "names", { name: "http", port: 80 });
  await serve("cluster-b", "names", { name: "metrics", port: 9090 });
  await exportInBoth("names");
  await expectReached("names", 80, podsOf("cluster-a", "names"));
  await expectReached("names", 9090, podsOf("cluster-b", "names"));
});

test("of an unnamed port and a named one, each leads to the cluster that has it", async () => {
  await serve("cluster-a", "unnamed", { name: "", port: 80 });
  await serve("cluster-b", "unnamed", { name: "https", port: 443 });
  await exportInBoth("unnamed");
  await expectReached("unnamed", 80, podsOf("cluster-a", "unnamed"));
  await expectReached("unnamed", 443, podsOf("cluster-b", "unnamed"));
});

test("a port with two names leads to both clusters", async () => {
  await serve("cluster-a", "renamed", { name: "http", port: 80 });
  await serve("cluster-b", "renamed", { name: "", port: 80 });
  await exportInBoth("renamed");
  await expectReached("renamed", 80, [...podsOf("cluster-a", "renamed"), ...podsOf("cluster-b", "renamed")]);
});
