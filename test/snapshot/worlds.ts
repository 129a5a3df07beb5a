import fc from "fast-check";
import type {
  ClusterSnapshot,
  Endpoint,
  ExportedService,
  ImportedService,
  LocalService,
} from "../../src/snapshot/schema.ts";

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

/** A dictionary of at most two members: enough for every kind of change, quick to make. */
function dictionary<Value>(key: fc.Arbitrary<string>, value: fc.Arbitrary<Value>) {
  return fc.dictionary(key, value, { maxKeys: 2, noNullPrototype: true });
}

// Small alphabets, so that two random snapshots share keys and their difference has every shape.
const address = fc.constantFrom("10.0.0.1", "10.0.0.2", "fd00::1");
const port = fc.record({
  name: fc.constantFrom("", "http"),
  protocol: fc.constantFrom("TCP", "UDP"),
  port: fc.constantFrom(80, 443, -1),
});
const endpoint: fc.Arbitrary<Endpoint> = fc.record(
  { address, hostname: fc.constantFrom("a", "b"), ready: fc.boolean(), zone: fc.constant("z1") },
  { requiredKeys: ["address"] },
);
const groups = dictionary(
  fc.constantFrom("*", "http/TCP/80"),
  fc.record({
    ports: fc.array(port, { maxLength: 2 }),
    members: dictionary(fc.constantFrom("10.0.0.1", "10.0.0.2#a", "constructor"), endpoint),
  }),
);
const exported: fc.Arbitrary<ExportedService> = fc.record(
  {
    exportedAt: fc.constantFrom("2024-01-01T00:00:00Z", "2025-06-01T12:00:00.5+02:00"),
    serviceType: fc.constantFrom("ClusterIP", "LoadBalancer"),
    headless: fc.boolean(),
    ports: fc.array(port, { maxLength: 2 }),
    endpoints: groups,
    exportedLabels: dictionary(fc.constantFrom("app", "constructor", "toString"), fc.constantFrom("x", "")),
    clusterIPs: fc.array(address, { maxLength: 2 }),
    loadBalancer: fc.array(fc.record({ ip: address }), { maxLength: 2 }),
  },
  { requiredKeys: ["exportedAt", "serviceType", "headless", "ports", "endpoints"] },
);
const imported: fc.Arbitrary<ImportedService> = fc.record(
  {
    type: fc.constantFrom("ClusterSetIP", "Headless"),
    ips: fc.array(address, { maxLength: 2 }),
    ports: fc.array(port, { maxLength: 2 }),
    endpoints: dictionary(fc.constantFrom("", "east", "valueOf"), groups),
  },
  { requiredKeys: ["ips", "ports", "endpoints"] },
);
const local: fc.Arbitrary<LocalService> = fc.record(
  {
    createdAt: fc.constantFrom("2024-01-01T00:00:00Z", "2025-06-01T12:00:00.5+02:00"),
    serviceType: fc.constantFrom("ClusterIP", "ExternalName"),
    headless: fc.boolean(),
    ports: fc.array(port, { maxLength: 1 }),
    clusterIPs: fc.array(address, { maxLength: 2 }),
    externalName: fc.constantFrom("a.example", ""),
    ownedName: fc.constant("my-service.my-cluster"),
    endpoints: groups,
  },
  { requiredKeys: ["createdAt", "serviceType", "headless", "ports", "endpoints"] },
);
const serviceKey = fc.constantFrom("shop/web", "shop/db", "constructor/a");

/** Random valid snapshots of the cluster "west". */
export const snapshots: fc.Arbitrary<ClusterSnapshot> = fc.record(
  {
    formatVersion: fc.constant(1 as const),
    clusterId: fc.constant("west"),
    topology: fc.record(
      { region: fc.constant("eu"), zones: fc.array(fc.constantFrom("a", "b")) },
      { requiredKeys: [] },
    ),
    clusterZone: fc.record({
      name: fc.constantFrom("cluster.local", "east.example"),
      pods: fc.constantFrom("disabled", "insecure", "verified"),
    }),
    namespaces: dictionary(fc.constantFrom("shop", "constructor"), fc.constant({})),
    exports: dictionary(serviceKey, exported),
    imports: dictionary(serviceKey, imported),
    services: dictionary(serviceKey, local),
    pods: dictionary(fc.constantFrom("shop/10.0.0.1", "shop/fd00::1"), fc.constant({})),
    findings: dictionary(
      fc.constant("NoService/shop/gone"),
      fc.record({
        reason: fc.constant("NoService"),
        kind: fc.constant("ServiceExport"),
        name: fc.constant("gone"),
        message: fc.constantFrom("a", "b"),
      }),
    ),
  },
  {
    requiredKeys: [
      ...(["formatVersion", "clusterId", "namespaces", "exports", "imports", "services", "pods"] as const),
      "findings",
    ],
  },
);
