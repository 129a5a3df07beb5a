import fc from "fast-check";
import type { ClusterSnapshot, Endpoint, ExportedService } from "../../src/snapshot/schema.ts";
import {
  arbitraryExport,
  arbitraryImport,
  arbitraryLocalService,
  arbitrarySnapshot,
} from "../worlds/arbitrary.ts";

/** A snapshot without any entries. */
export function emptySnapshot(clusterId: string): ClusterSnapshot {
  const tables = { namespaces: {}, exports: {}, imports: {}, services: {}, pods: {}, findings: {} };
  return { formatVersion: 1, clusterId, ...tables };
}

/** A headless export with `size` endpoints. */
export function headlessExport(size: number): ExportedService {
  const members: Record<string, Endpoint> = {};
  for (let index = 0; index < size; index++) {
    const address = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
    members[address] = { address, hostname: `web-${index}`, ready: true };
  }
  return {
    exportedAt: "2024-01-01T00:00:00Z",
    serviceType: "ClusterIP",
    headless: true,
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
    endpoints: { "http/TCP/8080": { ports: [{ name: "http", protocol: "TCP", port: 8080 }], members } },
  };
}

/** A snapshot with one headless service `shop/web`. */
export function shopSnapshot(clusterId: string, endpoints = 2): ClusterSnapshot {
  return {
    ...emptySnapshot(clusterId),
    namespaces: { shop: {} },
    exports: { "shop/web": headlessExport(endpoints) },
  };
}

/** At most two entries of few names, so that two random snapshots share some. */
const few = <Value>(value: fc.Arbitrary<Value>) =>
  fc.dictionary(fc.constantFrom("shop/web", "shop/db", "constructor/a"), value, {
    maxKeys: 2,
    noNullPrototype: true,
  });

/** Random valid snapshots of the cluster "west", whose differences have every shape. */
export const snapshots: fc.Arbitrary<ClusterSnapshot> = fc
  .tuple(
    arbitrarySnapshot(fc.constant("west")),
    few(arbitraryExport),
    few(arbitraryImport),
    few(arbitraryLocalService),
  )
  .map(([snapshot, exports, imports, services]) => ({ ...snapshot, exports, imports, services }));
