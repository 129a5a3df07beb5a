import type { ApiClient } from "../../servers/kubernetes/api-client.ts";
import {
  endpointSlice,
  type KubeObject,
  namespace,
  serviceImport,
  serviceSlice,
} from "../../servers/kubernetes/objects.ts";
import { inParallel } from "../comparison/ask.ts";
import { type Place, placesOf } from "../place.ts";
import { localZone } from "../questions.ts";
import { objectsOf } from "./services.ts";
import { services } from "./world.ts";

/** A namespace with objects in it that is deleted at once, whereas `dying` stays Terminating. */
const deletedNamespace = "gone";
const dyingNamespace = "dying";

/** The namespaces that exist, as far as the questions have to do with them. */
export const namespaces: readonly string[] = [
  ...new Set([...services.map((one) => one.namespace), "bare", "kube-system"]),
].filter((name) => name !== deletedNamespace);

/** Addresses in slices that belong to no Service: one without the label, one whose Service is not there. */
export const strayAddresses = ["10.55.0.1", "10.55.0.2"] as const;

const pg = { name: "pg", port: 5432, protocol: "TCP" };
const others: KubeObject[] = [
  endpointSlice("data", "unlabelled", {
    ports: [pg],
    endpoints: [{ addresses: [strayAddresses[0]], hostname: "u0" }],
  }),
  serviceSlice("data", "orphan", {
    ports: [pg],
    endpoints: [{ addresses: [strayAddresses[1]], hostname: "o0" }],
  }),
  namespace("clusterset"),
  serviceImport("clusterset", "web", { type: "ClusterSetIP", ips: ["10.200.0.1"], ports: [pg] }),
];

/** The fixture as a worker reads it, with a namespace that is gone and one that is being deleted. */
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

export async function applyFixture(admin: ApiClient): Promise<void> {
  const made = [...namespaces, deletedNamespace].filter((name) => !["default", "kube-system"].includes(name));
  await inParallel(made.map(namespace), (object) => admin.apply(object));
  for (const object of others) await admin.apply(object);
  await inParallel(services.flatMap(objectsOf), (object) => admin.apply(object));
  await inParallel(pods, (pod) => applyPod(admin, pod));
  await admin.terminateNamespace(dyingNamespace);
  await admin.deleteNamespace(deletedNamespace);
}

type Phase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
/** A pod as a kubelet would have reported it; one that is being deleted is held by a finalizer. */
const pod = (
  namespace: string,
  name: string,
  addresses: string[],
  phase: Phase = "Running",
  more: { isHostNetwork?: boolean; isTerminating?: boolean } = {},
) => ({ namespace, name, addresses, phase, ...more });
type OwnPod = ReturnType<typeof pod>;

/** Pods of every phase, with one address, several, and none. */
export const pods = [
  pod("shop", "running", ["10.50.0.1"]),
  pod("shop", "dual", ["10.50.0.2", "fd00:50::2"]),
  pod("shop", "v6", ["fd00:50::3"]),
  pod("shop", "v6-zeros", ["fd00:50::"]),
  pod("shop", "pending", ["10.50.0.4"], "Pending"),
  pod("shop", "unscheduled", [], "Pending"),
  pod("shop", "succeeded", ["10.50.0.5"], "Succeeded"),
  pod("shop", "failed", ["10.50.0.6"], "Failed"),
  pod("shop", "unknown", ["10.50.0.7"], "Unknown"),
  pod("shop", "leaving", ["10.50.0.8"], "Running", { isTerminating: true }),
  pod("shop", "host-a", ["10.60.0.1"], "Running", { isHostNetwork: true }),
  pod("shop", "host-b", ["10.60.0.1"], "Running", { isHostNetwork: true }),
  pod("data", "other", ["10.50.1.1"]),
  pod("data", "reused", ["10.50.0.5"]),
  pod("dying", "there", ["10.50.2.1"]),
  pod("gone", "left", ["10.50.3.1"]),
];

async function applyPod(admin: ApiClient, one: OwnPod): Promise<void> {
  const object = podObject(one);
  await admin.apply(object);
  await admin.patchStatus(object, podStatus(one));
  if (one.isTerminating) await admin.remove(object);
}

/** A pod as an API server returns it. */
function podWithStatus(one: OwnPod): KubeObject {
  const object = podObject(one);
  const deletion = one.isTerminating && { deletionTimestamp: "2026-01-01T00:00:00Z" };
  return { ...object, metadata: { ...object.metadata, ...deletion }, status: podStatus(one) };
}

function podStatus({ phase, addresses }: OwnPod): object {
  const podIPs = addresses.map((ip) => ({ ip }));
  return { phase, podIPs, ...(podIPs[0] && { podIP: podIPs[0].ip }) };
}

function podObject({ namespace, name, isHostNetwork = false, isTerminating }: OwnPod): KubeObject {
  const finalizers = isTerminating ? ["example.com/held"] : [];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, ...(isTerminating && { finalizers }) } as KubeObject["metadata"],
    spec: {
      nodeName: "node-a",
      hostNetwork: isHostNetwork,
      containers: [{ name: "main", image: "registry.example.com/main:1" }],
    },
  };
}

export const localPlaces: (name: string) => Place = placesOf(
  new Map(
    services.flatMap((service) => {
      const { kind, ports, clusterIPs: ips, slices, publishNotReadyAddresses: isEager = false } = service;
      if (kind === "external name") return [];
      const isHeadless = kind === "headless";
      const own = slices.filter(({ addressType }) => addressType !== "FQDN").flatMap((one) => one.ports);
      const placed = {
        isHeadless,
        ports: isHeadless ? own : ports,
        ips,
        slices,
        isEager,
      };
      return [[`${service.name}.${service.namespace}.svc.${localZone}`, placed] as const];
    }),
  ),
);
