import type { ApiClient } from "../../servers/kubernetes/api-client.ts";
import {
  endpointSlice,
  type KubeObject,
  namespace,
  serviceImport,
  serviceSlice,
} from "../../servers/kubernetes/objects.ts";
import { inParallel } from "../comparison/in-parallel.ts";
import { aliases } from "./aliases.ts";
import { clusterIpServices } from "./cluster-ip-services.ts";
import { headlessServices, servicesInLeavingNamespaces } from "./headless-services.ts";
import { applyPod, pods, podWithStatus } from "./pods.ts";
import { randomServices } from "./random-services.ts";
import { type OwnService, objectsOf } from "./services.ts";

/** A namespace with objects in it that is deleted at once, whereas `dying` stays Terminating. */
const deletedNamespace = "gone";
const dyingNamespace = "dying";

/** All Services of the cluster, leftovers in deleted namespaces among them. */
export const services: readonly OwnService[] = [
  ...clusterIpServices,
  ...headlessServices,
  ...aliases,
  ...servicesInLeavingNamespaces,
  ...randomServices(80, 20_261_121),
];

/** The namespaces that exist, as far as the questions have to do with them. */
export const namespaces: readonly string[] = [
  ...new Set([...services.map((one) => one.namespace), "bare", "kube-system"]),
].filter((name) => name !== deletedNamespace);

/** Addresses in slices that belong to no Service: one without the label, one whose Service is not there. */
export const strayAddresses = { unlabelled: "10.55.0.1", orphaned: "10.55.0.2" };

const pg = { name: "pg", port: 5432, protocol: "TCP" };
const others: KubeObject[] = [
  endpointSlice("data", "unlabelled", {
    ports: [pg],
    endpoints: [{ addresses: [strayAddresses.unlabelled], hostname: "u0" }],
  }),
  serviceSlice("data", "orphan", {
    ports: [pg],
    endpoints: [{ addresses: [strayAddresses.orphaned], hostname: "o0" }],
  }),
  namespace("clusterset"),
  serviceImport("clusterset", "web", { type: "ClusterSetIP", ips: ["10.200.0.1"], ports: [pg] }),
];

/**
 * The fixture as a worker reads it: leftovers in a namespace that no longer exists, and a namespace that is
 * being deleted.
 */
export function listedObjects(): KubeObject[] {
  const listed = namespaces
    .map(namespace)
    .map((object) =>
      object.metadata.name === dyingNamespace
        ? { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }
        : object,
    );
  const own = services.flatMap((one) => objectsOf({ ...one, isBuiltIn: false }));
  return [...listed, ...others, ...own, ...pods.map(podWithStatus)];
}

/** Brings the fixture onto an API server. */
export async function applyFixture(admin: ApiClient): Promise<void> {
  const made = [...namespaces, deletedNamespace].filter((name) => !["default", "kube-system"].includes(name));
  await inParallel(made.map(namespace), (object) => admin.apply(object));
  for (const object of others) await admin.apply(object);
  await inParallel(services.flatMap(objectsOf), (object) => admin.apply(object));
  await inParallel(pods, (pod) => applyPod(admin, pod));
  await admin.terminateNamespace(dyingNamespace);
  await admin.deleteNamespace(deletedNamespace);
}
