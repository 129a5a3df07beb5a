import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { derivedServiceName, endpointSliceName } from "../../../src/worker/control/objects.ts";
import { desiredImport, linesOf } from "../../worker/control/desired-lines.ts";
import { eventually } from "../harness/answers.ts";
import { infraManifests, workerFolder } from "../harness/infra.ts";
import { type SyncProcess, startSync } from "../harness/processes.ts";
import type { ApiClient } from "../servers/kubernetes/api-client.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import {
  endpointSlice,
  type KubeObject,
  namespace,
  service,
  serviceExport,
  serviceImport,
} from "../servers/kubernetes/objects.ts";
import { type PolicyRule, requestToken } from "../servers/kubernetes/service-account.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { waitFor } from "../servers/wait.ts";
import { type ScriptedGateway, startScriptedGateway } from "./scripted-gateway.ts";

const DERIVED = derivedServiceName("db");
const SLICE = endpointSliceName("db", "a", "v4-0");
const ours = { "app.kubernetes.io/managed-by": "clusterset-doh" };
const ports = [{ name: "pg", protocol: "TCP", port: 5432 }];

let server: ApiServer;
let gateway: ScriptedGateway;
let worker: SyncProcess;
/** Speaks with the token of the worker. */
let account: ApiClient;

beforeAll(async () => {
  [server, gateway] = await Promise.all([startApiServer({ name: "b" }), startScriptedGateway()]);
  const rights = infraManifests(join(workerFolder, "components/control")).filter(
    ({ kind }) => !["Deployment", "NetworkPolicy", "ConfigMap", "Secret"].includes(kind),
  );
  await server.admin.apply(
    ...rights,
    namespace("shop"),
    service("shop", "theirs", { ports }),
    endpointSlice("shop", "theirs-1", {
      ports,
      endpoints: [{ addresses: ["10.9.9.9"] }],
      labels: { "kubernetes.io/service-name": "theirs" },
    }),
    serviceImport("shop", "foreign", { type: "ClusterSetIP", ports, ips: ["10.8.8.8"] }),
    serviceExport("shop", "db"),
  );
  const token = await requestToken(server.admin, "clusterset-doh", "sync-worker-control");
  account = server.clientFor(token);
  const tokenFile = join(temporaryFolder("control"), "token");
  writeFileSync(tokenFile, "a-token\n");
  worker = startSync({
    kubeconfig: server.kubeconfig(token),
    clusterId: "b",
    gateways: [gateway as never],
    tokenFile,
    args: ["--control"],
  });
});

afterAll(async () => {
  await worker?.stop();
  await Promise.all([gateway?.stop(), server?.stop()]);
});

const get = (object: KubeObject) => server.admin.get(object);
const held = () => get(serviceImport("shop", "db", {}));

test("with the rights of the component the worker writes import, derived Service, slice, status and conditions", async () => {
  gateway.desire([
    ...linesOf(desiredImport({ labels: { tier: "1", "not a label": "x" } })),
    {
      export: "shop/db",
      conditions: [{ type: "Ready", status: "True", reason: "Exported", message: "is exported" }],
    },
  ]);
  await waitFor("status", async () => ((await held()) as { status?: object }).status !== undefined);
  const derived = await get(service("shop", DERIVED, {}));
  const { clusterIPs, ipFamilies } = derived.spec as { clusterIPs: string[]; ipFamilies: string[] };
  expect(clusterIPs).toHaveLength(2);
  expect(await held()).toMatchObject({
    metadata: { labels: { tier: "1", ...ours } },
    spec: { type: "ClusterSetIP", ports, ips: clusterIPs, ipFamilies },
    status: {
      clusters: [{ cluster: "a" }],
      conditions: [{ type: "Ready", status: "True" }],
      endpointSliceObjects: "Present",
    },
  });
  expect(await get(endpointSlice("shop", SLICE, { endpoints: [] }))).toMatchObject({
    metadata: { labels: { "kubernetes.io/service-name": DERIVED } },
    endpoints: [{ addresses: ["10.1.0.1"], conditions: { ready: true } }],
  });
  await waitFor("conditions", async () => {
    const { status } = (await get(serviceExport("shop", "db"))) as { status?: { conditions?: unknown[] } };
    return status?.conditions?.length === 1;
  });
  await waitFor("an Event", async () => {
    const { items } = await server.admin.api<{ items: { reason: string }[] }>(
      "GET",
      "/apis/events.k8s.io/v1/namespaces/shop/events",
    );
    return items.some(({ reason }) => reason === "Exported");
  });
});

test("what somebody changes is repaired, what somebody deletes is made again", async () => {
  await server.admin.patch(endpointSlice("shop", SLICE, { endpoints: [] }), {
    endpoints: [{ addresses: ["10.6.6.6"] }],
  });
  await waitFor("the slice", async () => {
    const { endpoints } = (await get(endpointSlice("shop", SLICE, { endpoints: [] }))) as unknown as {
      endpoints: { addresses: string[] }[];
    };
    return endpoints[0]!.addresses[0] === "10.1.0.1";
  });
  const before = await get(service("shop", DERIVED, {}));
  await server.admin.remove(service("shop", DERIVED, {}));
  await waitFor(
    "the derived Service",
    async () => (await get(service("shop", DERIVED, {}))).metadata.uid !== before.metadata.uid,
  );
  await waitFor("its addresses in the import", async () => {
    const { ips } = (await held()).spec as { ips: string[] };
    const { clusterIPs } = (await get(service("shop", DERIVED, {}))).spec as { clusterIPs: string[] };
    return JSON.stringify(ips) === JSON.stringify(clusterIPs);
  });
});

test("an import of another implementation stays as it is, and an Event says so", async () => {
  gateway.desire([...linesOf(), { import: "shop/foreign", desired: desiredImport() }]);
  await waitFor("an Event", async () => {
    const { items } = await server.admin.api<{ items: { reason: string }[] }>(
      "GET",
      "/apis/events.k8s.io/v1/namespaces/shop/events",
    );
    return items.some(({ reason }) => reason === "NotManaged");
  });
  expect((await get(serviceImport("shop", "foreign", {}))).spec).toMatchObject({ ips: ["10.8.8.8"] });
});

describe("with the worker's token", () => {
  const apply = (object: KubeObject) => account.apply(object);

  test.each<[string, () => Promise<unknown>]>([
    [
      "a Service of a user cannot be changed",
      () => apply(service("shop", "theirs", { externalIPs: ["10.6.6.6"], ports })),
    ],
    [
      "nor be marked as managed",
      () => account.patch(service("shop", "theirs", {}), { metadata: { labels: ours } }),
    ],
    ["nor be deleted", () => account.api("DELETE", "/api/v1/namespaces/shop/services/theirs")],
    [
      "a slice of a user cannot be deleted",
      () => account.api("DELETE", "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/theirs-1"),
    ],
    [
      "a slice of a user cannot be changed",
      () =>
        account.patch(endpointSlice("shop", "theirs-1", { endpoints: [] }), {
          endpoints: [{ addresses: ["10.6.6.6"] }],
        }),
    ],
    [
      "no slice can be added to a user's Service",
      () =>
        apply(
          endpointSlice("shop", "added", {
            ports,
            endpoints: [{ addresses: ["10.6.6.6"] }],
            labels: { ...ours, "kubernetes.io/service-name": "theirs" },
          }),
        ),
    ],
    [
      "an import of another implementation cannot be changed",
      () => apply(serviceImport("shop", "foreign", { type: "Headless", ports })),
    ],
    [
      "no unmarked object can be made",
      () => apply(serviceImport("shop", "mine", { type: "Headless", ports })),
    ],
    [
      "no Service with a selector can be made",
      () =>
        apply({
          ...service("shop", "clusterset-x", { selector: { app: "x" }, ports }),
          metadata: { namespace: "shop", name: "clusterset-x", labels: ours },
        }),
    ],
    [
      "no Service with external IPs can be made",
      () =>
        apply({
          ...service("shop", "clusterset-x", { externalIPs: ["10.6.6.6"], ports }),
          metadata: { namespace: "shop", name: "clusterset-x", labels: ours },
        }),
    ],
    ["no Secret can be read", () => account.api("GET", "/api/v1/namespaces/clusterset-doh/secrets")],
    ["no ServiceExport can be made", () => apply(serviceExport("shop", "theirs"))],
  ])("%s", async (_, act) => {
    await expect(act()).rejects.toThrow(/: (403|422) /);
  });
});

test("when nothing is desired, everything of ours goes and nothing of others", async () => {
  gateway.desire([]);
  await waitFor("the import to go", async () => (await held().catch(() => "gone")) === "gone");
  await waitFor(
    "the slice to go",
    async () => (await get(endpointSlice("shop", SLICE, { endpoints: [] })).catch(() => "gone")) === "gone",
  );
  await waitFor(
    "the Service to go",
    async () => (await get(service("shop", DERIVED, {})).catch(() => "gone")) === "gone",
  );
  for (const object of [
    service("shop", "theirs", {}),
    serviceImport("shop", "foreign", {}),
    endpointSlice("shop", "theirs-1", { endpoints: [] }),
  ])
    expect((await get(object)).metadata.name).toBe(object.metadata.name);
});

test("in all of this the worker used each right to write", async () => {
  // An apply that makes an object needs the right to create it, too.
  const used = () =>
    server.writes().flatMap(({ verb, resource, code }) => {
      if (code >= 300) return [];
      return verb === "patch" && code === 201
        ? [`patch ${resource}`, `create ${resource}`]
        : [`${verb} ${resource}`];
    });
  const roles = infraManifests(join(workerFolder, "components/control")).filter(
    ({ kind, metadata }) => kind.endsWith("Role") && metadata.name.endsWith("sync-worker-control"),
  );
  const granted = roles.flatMap(({ rules }) =>
    (rules as PolicyRule[]).flatMap(({ resources, verbs }) =>
      resources.flatMap((one) => verbs.filter((verb) => verb !== "get").map((verb) => `${verb} ${one}`)),
    ),
  );
  await eventually(() => [...new Set(used())].sort()).toEqual(granted.sort());
});
