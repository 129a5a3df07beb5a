import type { ClusterSnapshot } from "../../../../../src/snapshot/schema.ts";
import { emptySnapshot } from "../../../../snapshot/worlds.ts";

/** An exported service of a simulated cluster in the namespace `shop`. */
export interface ServiceState {
  readonly addresses: readonly string[];
  /** Default: true. */
  readonly headless?: boolean;
  /** Default: 80. */
  readonly port?: number;
  /** RFC 3339. Default: the same for all. */
  readonly exportedAt?: string;
}

/** All that a simulated cluster has. @param services by name */
export function clusterState(
  clusterId: string,
  services: Readonly<Record<string, ServiceState>>,
): ClusterSnapshot {
  const exported = Object.entries(services).map(([name, service]) => [`shop/${name}`, exportOf(service)]);
  return { ...emptySnapshot(clusterId), namespaces: { shop: {} }, exports: Object.fromEntries(exported) };
}

function exportOf({
  addresses,
  headless = true,
  port = 80,
  exportedAt = "2024-01-01T00:00:00Z",
}: ServiceState): ClusterSnapshot["exports"][string] {
  const ports = [{ name: "http", protocol: "TCP" as const, port }];
  const members = Object.fromEntries(addresses.map((address) => [address, { address }]));
  return {
    exportedAt,
    serviceType: "ClusterIP",
    headless,
    ports,
    endpoints: { [`http/TCP/${port}`]: { ports, members } },
  };
}
