import type { ApiClient } from "../../servers/kubernetes/api-client.ts";
import type { KubeObject } from "../../servers/kubernetes/objects.ts";

/** A pod with the addresses and the phase that a kubelet would have reported. */
export interface OwnPod {
  namespace: string;
  name: string;
  addresses: string[];
  phase: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
  isHostNetwork?: boolean;
  /** Being deleted, and held by a finalizer. */
  isTerminating?: boolean;
}

const pod = (
  namespace: string,
  name: string,
  addresses: string[],
  phase: OwnPod["phase"] = "Running",
): OwnPod => ({ namespace, name, addresses, phase });

/** Pods of every phase, with one address, several, and none. */
export const pods: OwnPod[] = [
  pod("shop", "running", ["10.50.0.1"]),
  pod("shop", "dual", ["10.50.0.2", "fd00:50::2"]),
  pod("shop", "v6", ["fd00:50::3"]),
  pod("shop", "v6-zeros", ["fd00:50::"]),
  pod("shop", "pending", ["10.50.0.4"], "Pending"),
  pod("shop", "unscheduled", [], "Pending"),
  pod("shop", "succeeded", ["10.50.0.5"], "Succeeded"),
  pod("shop", "failed", ["10.50.0.6"], "Failed"),
  pod("shop", "unknown", ["10.50.0.7"], "Unknown"),
  { ...pod("shop", "leaving", ["10.50.0.8"]), isTerminating: true },
  { ...pod("shop", "host-a", ["10.60.0.1"]), isHostNetwork: true },
  { ...pod("shop", "host-b", ["10.60.0.1"]), isHostNetwork: true },
  pod("data", "other", ["10.50.1.1"]),
  pod("data", "reused", ["10.50.0.5"]),
  pod("dying", "there", ["10.50.2.1"]),
  pod("gone", "left", ["10.50.3.1"]),
];

/** Brings a pod onto an API server. */
export async function applyPod(admin: ApiClient, one: OwnPod): Promise<void> {
  const object = podObject(one);
  await admin.apply(object);
  await admin.patchStatus(object, podStatus(one));
  if (one.isTerminating) await admin.remove(object);
}

/** A pod as an API server returns it. */
export function podWithStatus(one: OwnPod): KubeObject {
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
