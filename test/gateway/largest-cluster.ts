import type { ClusterSnapshot, Endpoint, ServicePort } from "../../src/snapshot/schema.ts";
import { emptySnapshot } from "../snapshot/worlds.ts";

const PODS = 150_000;
const SERVICES = 10_000;
const NAMESPACES = 1000;
const EACH = PODS / SERVICES;

const port = (name: string, number: number): ServicePort => ({ name, protocol: "TCP", port: number });

/**
 * A snapshot of the largest cluster that Kubernetes supports (Considerations for large clusters; scalability
 * thresholds): every Service is exported, in the cluster's own zone, and has a finding; every pod has a name.
 */
export function largestCluster(clusterId: string): ClusterSnapshot {
  const snapshot: ClusterSnapshot = {
    ...emptySnapshot(clusterId),
    topology: { region: "eu-central-1", zones: ["a", "b", "c"] },
    clusterZone: { name: "cluster.local", pods: "verified" },
  };
  for (let index = 0; index < NAMESPACES; index++) snapshot.namespaces[`team-${index}`] = {};
  for (let index = 0; index < SERVICES; index++) {
    const namespace = `team-${index % NAMESPACES}`;
    const name = `service-${index}`;
    const key = `${namespace}/${name}`;
    const members: Record<string, Endpoint> = {};
    for (let pod = index * EACH; pod < (index + 1) * EACH; pod++) {
      const address = `10.${pod >> 16}.${(pod >> 8) & 255}.${pod & 255}`;
      members[address] = { address, zone: `eu-central-1${"abc"[pod % 3]}` };
      snapshot.pods[`${namespace}/${address}`] = {};
    }
    const ports = [port("http", 8080), port("metrics", 9090)];
    const common = {
      serviceType: "ClusterIP",
      headless: index % 2 === 0,
      ports: [port("http", 80), port("metrics", 9090)],
      clusterIPs: [`172.20.${index >> 8}.${index & 255}`],
      endpoints: { "http/TCP/8080,metrics/TCP/9090": { ports, members } },
    } as const satisfies Partial<ClusterSnapshot["services"][string]>;
    const time = "2024-01-01T00:00:00Z";
    const exportedLabels = { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": namespace };
    snapshot.exports[key] = { exportedAt: time, exportedLabels, ...common };
    snapshot.services[key] = { createdAt: time, ...common };
    snapshot.findings[`ServiceExport/${key}/PortConflict`] = {
      reason: "PortConflict",
      kind: "ServiceExport",
      namespace,
      name,
      message:
        "this message is about as long as those that the worker reports for one service, with a hint of what to change",
    };
  }
  return snapshot;
}
