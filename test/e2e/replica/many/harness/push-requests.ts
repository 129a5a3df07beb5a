import { expect } from "vitest";
import type { ClusterSnapshot } from "../../../../../src/snapshot/schema.ts";
import { diffSnapshots } from "../../../../snapshot/diff-snapshots.ts";
import { pushed } from "../../../../snapshot/lines/push-lines.ts";
import { emptySnapshot } from "../../../../snapshot/worlds.ts";
import type { GatewayClient, HttpAnswer } from "../../../harness/gateway-client.ts";

/** An exported service of a cluster in the namespace `shop`. */
export interface ServiceState {
  readonly addresses: readonly string[];
  /** Default: true. */
  readonly headless?: boolean;
  /** RFC 3339. Default: the same for all. */
  readonly exportedAt?: string;
}

/** The exported services of a cluster, by name. */
export type Services = Readonly<Record<string, ServiceState>>;

/** All that a cluster has. */
export function clusterState(clusterId: string, services: Services): ClusterSnapshot {
  const exported = Object.entries(services).map(([name, service]) => [`shop/${name}`, exportOf(service)]);
  return { ...emptySnapshot(clusterId), namespaces: { shop: {} }, exports: Object.fromEntries(exported) };
}

function exportOf({
  addresses,
  headless = true,
  exportedAt = "2024-01-01T00:00:00Z",
}: ServiceState): ClusterSnapshot["exports"][string] {
  const ports = [{ name: "http", protocol: "TCP" as const, port: 80 }];
  const members = Object.fromEntries(addresses.map((address) => [address, { address }]));
  const endpoints = { "http/TCP/80": { ports, members } };
  return { exportedAt, serviceType: "ClusterIP", headless, ports, endpoints };
}

function send(to: GatewayClient, method: string, clusterId: string, path: string, content: object) {
  const authorization = `Bearer ${to.tokenFor(clusterId)}`;
  return to.http(...pushed(method, `/api/v1/clusters/${clusterId}${path}`, content, { authorization }));
}

/** A full push. */
export function put(
  to: GatewayClient,
  clusterId: string,
  services: Services,
  leaseSeconds = 600,
): Promise<HttpAnswer> {
  return to.push(clusterState(clusterId, services), { leaseSeconds });
}

/** A delta. @param from what the cluster has in `baseGeneration` */
export function patch(
  to: GatewayClient,
  clusterId: string,
  baseGeneration: number,
  from: Services,
  after: Services,
): Promise<HttpAnswer> {
  const [before, next] = [from, after].map((services) => clusterState(clusterId, services)) as [
    ClusterSnapshot,
    ClusterSnapshot,
  ];
  const content = { baseGeneration, patch: diffSnapshots(before, next)! };
  return send(to, "PATCH", clusterId, "/snapshot?leaseSeconds=600", content);
}

export function renew(
  to: GatewayClient,
  clusterId: string,
  generation: number,
  leaseSeconds: number,
): Promise<HttpAnswer> {
  return send(to, "POST", clusterId, `/lease?leaseSeconds=${leaseSeconds}`, { generation });
}

/** The generation of a request that must have been accepted. */
export function generationOf(answer: HttpAnswer): number {
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"generation"')]);
  return answer.json<{ generation: number }>().generation;
}
