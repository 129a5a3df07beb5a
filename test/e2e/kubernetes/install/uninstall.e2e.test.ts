import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stepsOf } from "../../../docs/steps.ts";
import { world } from "../../commands/exported.ts";
import { eventually } from "../../harness/answers.ts";
import { gatewayClient } from "../../harness/gateway-client.ts";
import { certificateFor } from "../../servers/certificate.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import { type KubeObject, serviceExport } from "../../servers/kubernetes/objects.ts";
import { freePort } from "../../servers/ports.ts";
import type { ServerProcess } from "../../servers/process.ts";
import { waitFor } from "../../servers/wait.ts";
import { startPod } from "./pod.ts";
import { type Reader, startReader } from "./reader.ts";

const PAGE = "docs/how-to/uninstall.md";
const INSTALL = "docs/how-to/deploy/kubernetes.md";
const CLUSTER = "## Each cluster";
const GATEWAY_NAMESPACE = "clusterset-doh-gateway";
const WORKER_NAMESPACE = "clusterset-doh";
/** Of the overlays. */
const NAMESPACES: Readonly<Record<string, string>> = { central: GATEWAY_NAMESPACE, west: WORKER_NAMESPACE };

let reader: Reader;
let server: ApiServer;
const running: ServerProcess[] = [];
/** Where the page's https://doh.example.org is. */
let gatewayUrl: string;
/** The objects of the cluster before anything of ours. */
let before: Set<string>;

beforeAll(async () => {
  reader = await startReader();
  server = await startApiServer();
  await server.admin.apply(...world("shop", { web: { endpoints: ["10.1.0.1"] } }));
  before = new Set(await everything());
});

afterAll(async () => {
  for (const process of running.reverse()) await process.stop();
  await server?.stop();
});

function run(line: string): Promise<string> {
  const there = line.replace("https://doh.example.org/", `${gatewayUrl}/`);
  return reader.expectRun(there, { central: server, east: server, west: server });
}

interface Kind {
  readonly kind: string;
  /** Of all of its objects. */
  readonly path: string;
  /** Of those in a namespace; undefined where they are in none. */
  readonly pathIn: ((namespace: string) => string) | undefined;
}

/** The kinds whose objects can be listed and deleted but Events: the page says that they stay for an hour. */
async function kinds(): Promise<Kind[]> {
  const { groups } = await server.admin.api<{ groups: { preferredVersion: { groupVersion: string } }[] }>(
    "GET",
    "/apis",
  );
  const roots = [
    "/api/v1",
    ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`),
  ];
  const all = roots.map(async (root) => {
    const { resources } = await server.admin.api<{
      resources: { name: string; kind: string; namespaced: boolean; verbs: string[] }[];
    }>("GET", root);
    return resources
      .filter(({ name, verbs }) => verbs.includes("list") && verbs.includes("delete") && name !== "events")
      .map(({ name, kind, namespaced }) => ({
        kind,
        path: `${root}/${name}`,
        pathIn: namespaced ? (namespace: string) => `${root}/namespaces/${namespace}/${name}` : undefined,
      }));
  });
  return (await Promise.all(all)).flat();
}

/** Every object. */
async function everything(): Promise<string[]> {
  const all = (await kinds()).map(async ({ kind, path }) => {
    const { items } = await server.admin.api<{ items: KubeObject[] }>("GET", path);
    return items.map(({ metadata: { namespace = "<none>", name } }) => `${kind} ${namespace} ${name}`);
  });
  return (await Promise.all(all)).flat();
}

/** What the controllers of a cluster do when a namespace is deleted: no controller runs here. */
async function endNamespace(name: string): Promise<void> {
  const object = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  await waitFor(`the deletion of ${name}`, async () => {
    const { metadata } = await server.admin.get(object);
    return metadata.deletionTimestamp !== undefined;
  });
  for (const { pathIn } of await kinds())
    if (pathIn !== undefined) await server.admin.api("DELETE", pathIn(name));
  const claims = `/api/v1/namespaces/${name}/persistentvolumeclaims`;
  const { items } = await server.admin.api<{ items: KubeObject[] }>("GET", claims);
  for (const { metadata } of items)
    await server.admin.patch(
      { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: metadata.name, namespace: name } },
      { metadata: { finalizers: null } },
    );
  await server.admin.deleteNamespace(name);
}

const added = async () => (await everything()).filter((one) => !before.has(one));

/** The steps of a page between two headings. */
function steps(page: string, from: string | undefined, until: string) {
  return stepsOf(page, until).slice(from === undefined ? 0 : stepsOf(page, from).length);
}

async function carryOut(page: string, from: string | undefined, until: string): Promise<void> {
  for (const step of steps(page, from, until))
    if (step.kind !== "file") {
      const [, deleted] = /delete (?:namespace|--ignore-not-found -k) (\S+)$/.exec(step.line) ?? [];
      await Promise.all([run(step.line), deleted && endNamespace(NAMESPACES[deleted] ?? deleted)]);
    } else {
      mkdirSync(dirname(join(reader.folder, step.path)), { recursive: true });
      writeFileSync(join(reader.folder, step.path), step.text);
    }
}

/** The Secret and the tokens that a reader of the page makes first. */
async function prepare(): Promise<void> {
  for (const step of steps(INSTALL, undefined, "## With Helm"))
    if (step.kind === "run" && !step.line.includes("raw.githubusercontent.com")) await run(step.line);
}

/** Starts the pods of both charts. */
async function startPods(port: number, certificate: string): Promise<void> {
  const client = gatewayClient(
    `https://localhost:${port}`,
    () => certificate,
    (clusterId) => join(reader.folder, `${clusterId}.token`),
  );
  gatewayUrl = client.url;
  const replaced = { ":8443": `127.0.0.1:${port}`, "https://doh.example.org": client.url };
  running.push(
    await startPod(server, GATEWAY_NAMESPACE, "statefulsets", "gateway", {
      replaced,
      ready: async () => (await client.http("/healthz")).status === 200,
    }),
    await startPod(server, WORKER_NAMESPACE, "deployments", "sync-worker", {
      replaced: { ...replaced, ":8080": `127.0.0.1:${await freePort()}` },
      env: { NODE_EXTRA_CA_CERTS: join(reader.folder, "tls.crt") },
    }),
  );
}

test("after Helm nothing is left of gateway, worker and control plane", async () => {
  const certificate = await certificateFor(reader.folder);
  await prepare();
  for (const step of steps(INSTALL, "## With Helm", "## With kustomize"))
    if (step.kind === "run") {
      const more = step.line.includes("infra/helm/gateway")
        ? "--set clusters.east.control=true"
        : "--set control.enabled=true --set 'extraArgs={--clusterset=mine}'";
      await run(`${step.line} ${more}`);
    }
  await run(
    "kubectl --context east apply --filename infra/kubernetes/sync-worker/components/control/cluster-properties.yaml",
  );
  await startPods(await freePort(), certificate.cert);
  await server.admin.apply({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "state-gateway-0", namespace: GATEWAY_NAMESPACE },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  // What the worker writes.
  await eventually(added).toEqual(
    expect.arrayContaining([
      "ClusterProperty <none> clusterset.k8s.io",
      expect.stringMatching(/^EndpointSlice shop web-\w+-v4-\w+$/),
      "Lease clusterset-doh clusterset-doh-control",
      "Service shop clusterset-web",
      "ServiceImport shop web",
    ]),
  );
  await carryOut(PAGE, CLUSTER, "## With kustomize");
  // The worker has no rights any more, so it has written nothing back.
  expect(await added()).toEqual([]);
  for (const process of running.splice(0)) await process.stop();
  expect(await added()).toEqual([]);
  // What the page says that stays.
  const { status } = await server.admin.get(serviceExport("shop", "web"));
  expect(status).toMatchObject({ conditions: expect.any(Array) });
  expect(await run("kubectl --context east --namespace shop get events")).toContain("web");
});

test("after kustomize nothing is left either", async () => {
  await prepare();
  await carryOut(INSTALL, "## With kustomize", "## First answer");
  expect((await added()).length).toBeGreaterThan(10);
  await carryOut(PAGE, "## With kustomize", "## CRDs");
  expect(await added()).toEqual([]);
});

test("the CRDs go with all of their objects", async () => {
  await carryOut(PAGE, "## CRDs", "## Outside Kubernetes");
  // For a moment the API server lists kinds that it serves no more.
  await eventually(added).toEqual([]);
  await eventually(async () => (await everything()).join("\n")).not.toMatch(/multicluster|ServiceExport/);
});
