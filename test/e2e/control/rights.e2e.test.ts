import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { infraManifests, workerFolder } from "../harness/infra.ts";
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
import { waitFor } from "../servers/wait.ts";

const ours = { "app.kubernetes.io/managed-by": "clusterset-doh" };
const ports = [{ name: "pg", protocol: "TCP", port: 5432 }];
const endpoints = [{ addresses: ["10.6.6.6"] }];
/** A slice of the user's Service. */
const theirSlice = (name: string, labels = {}) =>
  endpointSlice("shop", name, {
    ports,
    endpoints,
    labels: { ...labels, "kubernetes.io/service-name": "theirs" },
  });
/** A Service of ours. */
const derived = (spec: object): KubeObject => {
  const { metadata, ...rest } = service("shop", "clusterset-x", { ...spec, ports });
  return { ...rest, metadata: { ...metadata, labels: ours } };
};

let server: ApiServer;
/** Speaks with the token of the worker. */
let account: ApiClient;

beforeAll(async () => {
  server = await startApiServer({ name: "b" });
  const rights = infraManifests(join(workerFolder, "components/control")).filter(
    ({ kind }) => !["Deployment", "NetworkPolicy", "ConfigMap", "Secret"].includes(kind),
  );
  await server.admin.apply(
    ...rights,
    namespace("shop"),
    service("shop", "theirs", { ports }),
    theirSlice("theirs-1"),
    serviceImport("shop", "foreign", { type: "ClusterSetIP", ports, ips: ["10.8.8.8"] }),
  );
  account = server.clientFor(await requestToken(server.admin, "clusterset-doh", "sync-worker-control"));
  // It takes a moment until the API server has read roles and policies.
  const removal = () => account.api("DELETE", "/api/v1/namespaces/shop/services/theirs?dryRun=All");
  const outcome = () => removal().then(String, String);
  await waitFor("the policy", async () => (await outcome()).includes("ValidatingAdmissionPolicy"));
});

afterAll(() => server?.stop());

describe("with the worker's token", () => {
  const apply = (object: KubeObject) => account.apply(object);
  const remove = (path: string) => account.api("DELETE", path);
  const headless = { type: "Headless", ports };

  test.each<[string, () => Promise<unknown>]>([
    [
      "a Service of a user cannot be changed",
      () => apply(service("shop", "theirs", { ports, externalIPs: ["10.6.6.6"] })),
    ],
    [
      "nor be marked as managed",
      () => account.patch(service("shop", "theirs", {}), { metadata: { labels: ours } }),
    ],
    ["nor be deleted", () => remove("/api/v1/namespaces/shop/services/theirs")],
    [
      "a slice of a user cannot be deleted",
      () => remove("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/theirs-1"),
    ],
    ["a slice of a user cannot be changed", () => account.patch(theirSlice("theirs-1"), { endpoints: [] })],
    ["no slice can be added to a user's Service", () => apply(theirSlice("added", ours))],
    [
      "an import of another implementation cannot be changed",
      () => apply(serviceImport("shop", "foreign", headless)),
    ],
    ["no unmarked object can be made", () => apply(serviceImport("shop", "mine", headless))],
    ["no Service with a selector can be made", () => apply(derived({ selector: { app: "x" } }))],
    ["no Service with external IPs can be made", () => apply(derived({ externalIPs: ["10.6.6.6"] }))],
    ["no Secret can be read", () => account.api("GET", "/api/v1/namespaces/clusterset-doh/secrets")],
    ["no ServiceExport can be made", () => apply(serviceExport("shop", "theirs"))],
  ])("%s", async (_, act) => {
    await expect(act()).rejects.toThrow(/: (403|422) /);
  });
});
