import type { ClusterSnapshot, Endpoint, ExportedService } from "../../src/snapshot/schema.ts";
import { encodeQuery } from "../resolve/cases.ts";

/** The size of a clusterset in which each service is exported by a few of many clusters. */
export interface WideWorld {
  readonly clusters: number;
  readonly services: number;
}

/** Clusters that export one service, and the endpoints that each of them has for it. */
export const EXPORTERS = 4;
export const ENDPOINTS_PER_EXPORT = 5;
/** Endpoints of each cluster of a world of `wideWorld`. */
const ENDPOINTS_PER_CLUSTER = 10_000;
const SERVICES_PER_NAMESPACE = 100;
/** The namespace of the one large cluster, and the endpoints of each of its services. */
export const LARGE_NAMESPACE = "large";
export const LARGE_SERVICE = 30;
const PORTS = "http/TCP/8080";
const EXPORTED_AT = "2025-01-01T00:00:00Z";

/**
 * A world with so many endpoints, all of headless services: 1,000,000 are 50,000 services of 100 clusters.
 * With fewer than 10,000 endpoints for each of four clusters the clusters are smaller instead.
 */
export function wideWorld(endpoints: number): WideWorld {
  const clusters = Math.max(EXPORTERS, Math.round(endpoints / ENDPOINTS_PER_CLUSTER));
  return { clusters, services: Math.round(endpoints / (EXPORTERS * ENDPOINTS_PER_EXPORT)) };
}

export function wideEndpoints({ services }: WideWorld): number {
  return services * EXPORTERS * ENDPOINTS_PER_EXPORT;
}

export function wideClusterIds({ clusters }: WideWorld): string[] {
  return Array.from({ length: clusters }, (_, cluster) => clusterIdOf(cluster));
}

/** The snapshot of each cluster, made when it is asked for, so that never more than one is in memory. */
export function* wideSnapshots(world: WideWorld): Generator<ClusterSnapshot> {
  for (let cluster = 0; cluster < world.clusters; cluster++) yield wideSnapshot(world, cluster);
}

/** The snapshot of one cluster, counted from 0. */
export function wideSnapshot(world: WideWorld, cluster: number): ClusterSnapshot {
  const clusterId = clusterIdOf(cluster);
  const snapshot: ClusterSnapshot = {
    ...emptyCluster(clusterId, []),
    topology: { region: `region-${cluster % 10}`, zones: [`${clusterId}-a`] },
  };
  for (const service of servicesOf(world, cluster)) {
    const key = keyOf(service);
    snapshot.namespaces[key.slice(0, key.indexOf("/"))] = {};
    const members: Record<string, Endpoint> = {};
    for (let ordinal = 0; ordinal < ENDPOINTS_PER_EXPORT; ordinal++) {
      const [member, endpoint] = wideEndpoint(world, cluster, service, ordinal);
      members[member] = endpoint;
    }
    snapshot.exports[key] = headlessExport(members);
    const ports = [{ name: "http", protocol: "TCP", port: 80 }];
    snapshot.imports[key] = { type: "Headless", ips: [], ports, endpoints: {} };
  }
  return snapshot;
}

/** The numbers of the services that a cluster exports. */
export function* servicesOf({ clusters, services }: WideWorld, cluster: number): Generator<number> {
  for (let service = 0; service < services; service++)
    if ((cluster - service + services * clusters) % clusters < EXPORTERS) yield service;
}

/** `<namespace>/<name>` of a service. */
export function keyOf(service: number): string {
  return `team-${Math.floor(service / SERVICES_PER_NAMESPACE)}/service-${service}`;
}

/** The query for the addresses of a service. */
export function wideQuery(service: number): Uint8Array {
  const [namespace, name] = keyOf(service).split("/");
  return encodeQuery(`${name}.${namespace}.svc.clusterset.local`, "A");
}

/** Queries for services that are spread over a world. */
export function wideQueries({ services }: WideWorld, count: number): Uint8Array[] {
  return Array.from({ length: Math.min(count, services) }, (_, index) =>
    wideQuery(Math.floor((index * services) / Math.min(count, services))),
  );
}

/**
 * A headless service that one cluster exports.
 * @param members its endpoints, by the keys of the snapshot format
 */
export function headlessExport(members: Record<string, Endpoint>): ExportedService {
  return {
    exportedAt: EXPORTED_AT,
    serviceType: "ClusterIP",
    headless: true,
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
    ipFamilies: ["IPv4"],
    endpoints: { [PORTS]: { ports: [{ name: "http", protocol: "TCP", port: 8080 }], members } },
  };
}

/** A merge patch of such a service that changes members; null removes one. */
export function memberPatch(members: Readonly<Record<string, Endpoint | null>>) {
  return { endpoints: { [PORTS]: { members } } };
}

/** An endpoint with a host name, as a pod of a StatefulSet has it, with its key. */
export function namedEndpoint(address: string, hostname: string): [key: string, Endpoint] {
  return [`${address}#${hostname}`, { address, hostname }];
}

/** The address `10.x.y.z` for a number below 2^24. */
export function addressOf(number: number): string {
  return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
}

/** One endpoint of a service in a cluster that exports it, before anything changes. */
export function wideEndpoint(
  { clusters }: WideWorld,
  cluster: number,
  service: number,
  ordinal: number,
): [key: string, Endpoint] {
  const exporter = (((cluster - service) % clusters) + clusters) % clusters;
  const number = (service * EXPORTERS + exporter) * ENDPOINTS_PER_EXPORT + ordinal;
  return namedEndpoint(addressOf(number), `service-${service}-${ordinal}`);
}

function clusterIdOf(cluster: number): string {
  return `cluster-${cluster + 1}`;
}

/**
 * One cluster with so many endpoints, 30 in each headless service, as entries of `exports`, made when they
 * are asked for.
 * @param variant another one gives every endpoint another address
 */
export function* largeExports(endpoints: number, variant = 0): Generator<[key: string, ExportedService]> {
  for (let service = 0; service * LARGE_SERVICE < endpoints; service++) {
    const members: Record<string, Endpoint> = {};
    for (let ordinal = 0; ordinal < LARGE_SERVICE; ordinal++) {
      const address = addressOf(8_000_000 + variant * 1_000_000 + service * LARGE_SERVICE + ordinal);
      const [member, endpoint] = namedEndpoint(address, `large-${service}-${ordinal}`);
      members[member] = endpoint;
    }
    yield [`${LARGE_NAMESPACE}/service-${service}`, headlessExport(members)];
  }
}

/** A snapshot of a cluster that has namespaces, and nothing else. */
export function emptyCluster(clusterId: string, namespaces: readonly string[]): ClusterSnapshot {
  return {
    formatVersion: 1,
    clusterId,
    namespaces: Object.fromEntries(namespaces.map((name) => [name, {}])),
    exports: {},
    imports: {},
    services: {},
    pods: {},
    findings: {},
  };
}
