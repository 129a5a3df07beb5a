import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { beforeAll, expect, test } from "vitest";
import { eventually } from "../../harness/answers.ts";
import type { ApiServer } from "../../servers/kubernetes/api-server.ts";
import type { NodeNetwork } from "../../servers/kubernetes/node-network.ts";
import { type KubeObject, namespace, service, serviceExport } from "../../servers/kubernetes/objects.ts";
import { run } from "../../servers/run.ts";
import { waitFor } from "../../servers/wait.ts";
import { lookAt } from "../objects.ts";
import { type ClusterName, startClusters } from "./clusters.ts";

/** With two clusters to choose from, all reach the same one by chance in one of eight million runs. */
const CONNECTIONS = 24;
const NAMES = ["cluster-a", "cluster-b"] as const;
/** Where a client pod takes lines of a shell script, and where the pods of `serve` listen. */
const CLIENT_PORT = 7000;
const SERVER_PORT = 8080;
/** Each cluster and each family. */
const clients = NAMES.flatMap((from) => (["A", "AAAA"] as const).map((type) => ({ from, type })));
let servers: Readonly<Record<ClusterName, ApiServer>>;
let networks: Readonly<Record<ClusterName, NodeNetwork>>;
/** The addresses of the client pods. */
const clientAt = new Map<ClusterName, string>();

beforeAll(async () => {
  // `npm run test:soak -- connectivity` runs this in namespaces; every process in there ends with it.
  if (process.env.E2E_ISOLATED === undefined) throw new Error("this changes the machine's network");
  await run("ip", ["link", "set", "lo", "up"]);
  ({ servers, networks } = await startClusters());
  for (const name of NAMES) {
    const { admin } = servers[name];
    await admin.apply(namespace("shop"));
    // It runs the shell script of each connection and returns its output.
    const client = pod("default", "client", {}, ["socat", listener(CLIENT_PORT), "EXEC:/bin/sh"]);
    const address = await waitFor(`the client in ${name}`, async () => podIpOf(await admin.apply(client)));
    clientAt.set(name, address);
  }
});

const podIpOf = ([made]: readonly KubeObject[]) => (made as { status?: { podIP?: string } }).status?.podIP;
const listener = (port: number) => `TCP6-LISTEN:${port},ipv6only=0,reuseaddr,fork`;

function pod(
  inNamespace: string,
  name: string,
  labels: Record<string, string>,
  command: string[],
): KubeObject {
  const metadata = { namespace: inNamespace, name, labels };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: { containers: [{ name: "main", image: "none", command }] },
  };
}

/** Two pods of a Service, each of which answers a connection with its cluster and its name. */
function serverPods(cluster: ClusterName, app: string): KubeObject[] {
  return podsOf(cluster, app).map((answer) =>
    pod("shop", answer.split(" ")[1]!, { app }, ["socat", listener(SERVER_PORT), `SYSTEM:echo ${answer}`]),
  );
}

/** What the gateway answers to a cluster's pods; without addresses the error code, such as ENOTFOUND. */
function resolve(cluster: ClusterName, name: string, type: "A" | "AAAA"): Promise<string[] | string> {
  const resolver = new Resolver();
  resolver.setServers([networks[cluster].router]);
  const answer = resolver.resolve(`${name}.shop.svc.clusterset.local`, type) as Promise<string[]>;
  return answer.catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
}

/** Connects from a pod. @returns the distinct answers, sorted, "none" for a connection that fails */
async function connect(from: ClusterName, address: string, port: number, times: number): Promise<string[]> {
  const target = `TCP:${address.includes(":") ? `[${address}]` : address}:${port},connect-timeout=5`;
  const socket = connectTcp(CLIENT_PORT, clientAt.get(from)!).setEncoding("utf8");
  await once(socket, "connect");
  socket.write(`for i in $(seq ${times}); do socat -u ${target} - 2>/dev/null || echo none; done\nexit\n`);
  let output = "";
  for await (const text of socket) output += text;
  return [...new Set(output.trim().split("\n"))].sort();
}

/** Runs a Service with two pods in a cluster, until its own address leads to both; returns that address. */
async function serve(cluster: ClusterName, name: string, port = { name: "http", port: 80 }): Promise<string> {
  const { admin } = servers[cluster];
  const spec = {
    selector: { app: name },
    ipFamilyPolicy: "RequireDualStack",
    ports: [{ ...port, targetPort: SERVER_PORT }],
  };
  // Pods are rejected until the namespace has its ServiceAccount.
  await waitFor(`pods of ${name}`, async () => admin.apply(...serverPods(cluster, name)));
  const [made] = (await admin.apply(service("shop", name, spec))) as [
    KubeObject & { spec: { clusterIP: string } },
  ];
  const { clusterIP } = made.spec;
  await eventually(() => connect(cluster, clusterIP, port.port, CONNECTIONS)).toEqual(podsOf(cluster, name));
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
  const addresses = await resolve(from, name, type);
  if (typeof addresses === "string") return addresses;
  return addresses.length === 1 ? connect(from, addresses[0]!, port, times) : addresses;
}

/** What the clients of both clusters reach before long, in both families. */
async function expectReached(name: string, port: number, expected: string[] | string): Promise<void> {
  for (const client of clients) await eventually(() => reached(client, name, port)).toEqual(expected);
}

test("a service that is not exported has no name, and the other cluster does not reach its address", async () => {
  const address = await serve("cluster-a", "web");
  const { admin } = servers["cluster-a"];
  const pods = await admin.apply(...serverPods("cluster-a", "web"));
  expect(await connect("cluster-b", podIpOf(pods)!, SERVER_PORT, 1)).toEqual(["cluster-a web-0"]);
  expect(await connect("cluster-b", address, 80, 1)).toEqual(["none"]);
  // Once the gateway answers this name, it knows of everything before it.
  const ports = [{ name: "http", port: 80 }];
  await admin.apply(service("shop", "later", { ports }), serviceExport("shop", "later"));
  for (const name of NAMES) await eventually(() => resolve(name, "later", "A")).toHaveLength(1);
  for (const client of clients) expect(await reached(client, "web")).toBe("ENOTFOUND");
});

test("an exported service is reached by its clusterset IP from both clusters, until the export is gone", async () => {
  const { admin } = servers["cluster-a"];
  await admin.apply(serviceExport("shop", "web"));
  await expectReached("web", 80, podsOf("cluster-a", "web"));
  const ips = await resolve("cluster-b", "web", "A");
  await admin.remove(serviceExport("shop", "web"));
  await eventually(() => connect("cluster-b", ips[0]!, 80, 1)).toEqual(["none"]);
  await expectReached("web", 80, "ENOTFOUND");
});

test("of Services in both clusters, connections reach those that are exported, and no others", async () => {
  for (const name of NAMES) await serve(name, "both");
  await servers["cluster-a"].admin.apply(serviceExport("shop", "both"));
  await expectReached("both", 80, podsOf("cluster-a", "both"));
  await servers["cluster-b"].admin.apply(serviceExport("shop", "both"));
  await expectReached("both", 80, [...podsOf("cluster-a", "both"), ...podsOf("cluster-b", "both")]);
});

/** The pods of cluster-a, of cluster-b, and of both. */
const podsOfEach = (name: string): Readonly<Record<"a" | "b" | "both" | "none", string[]>> => {
  const [a, b] = [podsOf("cluster-a", name), podsOf("cluster-b", name)];
  return { a, b, both: [...a, ...b], none: ["none"] };
};

test.each([
  [
    "one port name with two numbers: the older one counts",
    "numbers",
    "http 80",
    "http 8000",
    { 80: "a", 8000: "none" },
  ],
  [
    "two port names: each port leads to its cluster",
    "names",
    "http 80",
    "metrics 9090",
    { 80: "a", 9090: "b" },
  ],
  ["an unnamed port and a named one", "unnamed", " 80", "https 443", { 80: "a", 443: "b" }],
  ["a port with two names leads to both clusters", "renamed", "http 80", " 80", { 80: "both" }],
] as const)("in a conflict about ports: %s", async (_, name, older, younger, expected) => {
  const [a, b] = [older, younger].map((text) => ({
    name: text.split(" ")[0]!,
    port: Number(text.split(" ")[1]),
  }));
  await serve("cluster-a", name, a!);
  await serve("cluster-b", name, b!);
  // The export of cluster-a is a second older.
  const [made] = await servers["cluster-a"].admin.apply(serviceExport("shop", name));
  const from = Date.parse(made!.metadata.creationTimestamp as string);
  await waitFor("a later second", () => Date.now() >= from + 1100);
  await servers["cluster-b"].admin.apply(serviceExport("shop", name));
  for (const cluster of NAMES) {
    const { condition, slices } = lookAt(servers[cluster], "shop");
    await eventually(async () => (await condition(name, "Conflict"))?.reason).toBe("PortConflict");
    await eventually(() => slices(name)).not.toEqual([]);
  }
  for (const [port, who] of Object.entries(expected)) {
    const pods = podsOfEach(name)[who];
    if (who !== "none") await expectReached(name, Number(port), pods);
    else for (const client of clients) expect(await reached(client, name, Number(port), 1)).toEqual(pods);
  }
});
