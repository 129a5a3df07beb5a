import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { desiredImport, linesOf } from "../../worker/control/desired-lines.ts";
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
import { requestToken } from "../servers/kubernetes/service-account.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { waitFor } from "../servers/wait.ts";
import { type ScriptedGateway, startScriptedGateway } from "./scripted-gateway.ts";

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
