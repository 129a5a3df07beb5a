import fc from "fast-check";
import type {
  ClusterSnapshot,
  ClusterZone,
  Endpoint,
  EndpointGroups,
  EndpointPort,
  ExportedService,
  Finding,
  ImportedService,
  LocalService,
  ServicePort,
} from "../../src/snapshot/schema.ts";

// Alphabets are small so that clusters meet in the same namespaces, services, ports and addresses.
const CLUSTER_IDS = ["east", "north", "south.eu", "west"];
const NAMESPACES = ["default", "shop", "shop-b"];
const NAMES = ["api", "db", "web", "web-2"];
const ODD_NAMES = ["a.b", "UPPER", "x".repeat(64), "constructor", "-edge-"];
const ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.1.0.1", "192.0.2.7", "fd00::1", "2001:db8::2"];
const ODD_ADDRESSES = ["not-an-address", "999.1.1.1", "010.0.0.1", "fe80::1%eth0", "::", "2001:DB8:0::2"];
const HOSTNAMES = ["web-0", "web-1", "db-0"];
const ODD_HOSTNAMES = ["with.dot", "UPPER", "y".repeat(64), "-dash", "dash-", ""];
const SOURCES = ["east", "west", "far"];
const ODD_SOURCES = ["", "East", "WEST", "far.eu", "under_score", "a.b.c", "constructor"];
const EXTERNAL_NAMES = ["www.example.com", "web.shop.svc.cluster.local", "db.example.com."];
const ODD_EXTERNAL_NAMES = [
  "",
  "10.0.0.1",
  "a..b",
  "under_score.example",
  "b\u00fccher.example",
  "x".repeat(64),
];
const OWNED_NAMES = ["my-service.my-cluster", "api", "a.b.web", "Mixed.Case"];
const ODD_OWNED_NAMES = ["", ".", "a..b", "_http._tcp.web", "y".repeat(64), "trailing."];
const ZONES = ["zone-a", "zone-b"];

/** Mostly a usual value, once in a while an odd one that an API server lets through. */
function usually<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 19, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

const pick = (usual: readonly string[], odd: readonly string[]) =>
  usually(fc.constantFrom(...usual), fc.constantFrom(...odd));

const some = <T extends object, K extends keyof T>(
  model: { [P in keyof T]: fc.Arbitrary<T[P]> },
  required: K[],
) => fc.record(model, { requiredKeys: required, noNullPrototype: true });

const arbitraryClusterId: fc.Arbitrary<string> = fc.constantFrom(...CLUSTER_IDS);

const address = pick(ADDRESSES, ODD_ADDRESSES);
const portNumber = usually(fc.constantFrom(53, 80, 443, 8080), fc.constantFrom(0, -1, 65535, 65536, 70000));
const portName = pick(["", "http", "dns", "metrics"], ["HTTP", "a_b", "p".repeat(63), "with.dot"]);
const protocol = pick(["TCP", "UDP", "SCTP"], ["", "tcp", "QUIC"]);

const servicePort: fc.Arbitrary<ServicePort> = some(
  {
    name: portName,
    protocol,
    port: portNumber,
    appProtocol: fc.constantFrom("http", "kubernetes.io/h2c"),
  },
  ["name", "protocol", "port"],
) as fc.Arbitrary<ServicePort>;

const endpointPort: fc.Arbitrary<EndpointPort> = some({ name: portName, protocol, port: portNumber }, [
  "name",
  "protocol",
  "port",
]);

const endpoint = some(
  {
    address,
    hostname: pick(HOSTNAMES, ODD_HOSTNAMES),
    ready: usually(fc.constant(true), fc.constant(false)),
    serving: fc.boolean(),
    terminating: fc.boolean(),
    zone: fc.constantFrom(...ZONES),
  },
  ["address"],
) as fc.Arbitrary<Endpoint>;

/** Endpoint groups of up to two port sets, keyed as the snapshot format says. */
export const arbitraryEndpointGroups: fc.Arbitrary<EndpointGroups> = fc
  .array(fc.tuple(fc.array(endpointPort, { maxLength: 3 }), fc.array(endpoint, { maxLength: 4 })), {
    maxLength: 2,
  })
  .map((groups) => {
    const result: EndpointGroups = {};
    for (const [ports, members] of groups) {
      const sorted = [...ports].sort((left, right) => (portKey(left) < portKey(right) ? -1 : 1));
      const key = sorted.map(portKey).join(",") || "*";
      const group = { ports: sorted, members: { ...result[key]?.members } };
      for (const member of members) group.members[memberKey(member)] = member;
      // A key that the format refuses, as of a port set that starts with an odd name, is left out.
      if (/^[A-Za-z0-9*(]/.test(key)) result[key] = group;
    }
    return result;
  });

function portKey({ name, protocol, port }: EndpointPort): string {
  return `${name || "(unnamed)"}/${protocol}/${port}`;
}

function memberKey({ address, hostname }: Endpoint): string {
  return (hostname ? `${address}#${hostname}` : address).replaceAll(/[\s_]/g, "-");
}

const globalProperties = {
  ports: fc.array(servicePort, { maxLength: 4 }),
  sessionAffinity: fc.constantFrom("None", "ClientIP", ""),
  sessionAffinityTimeoutSeconds: fc.constantFrom(10, 10800),
  internalTrafficPolicy: fc.constantFrom("Cluster", "Local"),
  trafficDistribution: fc.constantFrom("PreferClose", "PreferSameZone"),
};

const pairs = fc.dictionary(
  fc.constantFrom("team", "example.com/tier", "constructor"),
  fc.constantFrom("a", "b"),
  { maxKeys: 2, noNullPrototype: true },
);

const exportToAll: fc.Arbitrary<ExportedService> = some(
  {
    exportedAt: fc.constantFrom(
      "2026-01-01T00:00:00Z",
      "2026-01-01T01:00:00+01:00",
      "2025-12-31T23:59:59.500Z",
      "2026-03-01T12:00:00Z",
    ),
    serviceType: fc.constantFrom("ClusterIP", "NodePort", "LoadBalancer"),
    headless: fc.boolean(),
    ...globalProperties,
    ipFamilies: fc.constantFrom(["IPv4"], ["IPv6"], ["IPv4", "IPv6"], ["IPv6", "IPv4"], []),
    exportedLabels: pairs,
    exportedAnnotations: pairs,
    publishNotReadyAddresses: fc.boolean(),
    clusterIPs: fc.array(address, { maxLength: 2 }),
    loadBalancer: fc.array(some({ ip: address, hostname: fc.constant("lb.example.com") }, []), {
      maxLength: 2,
    }),
    externalIPs: fc.array(address, { maxLength: 1 }),
    nodes: fc.record({
      ports: fc.constant([{ name: "http", protocol: "TCP", port: 30080 }]),
      addresses: fc.array(address, { maxLength: 2 }),
    }),
    endpoints: arbitraryEndpointGroups,
  },
  ["exportedAt", "serviceType", "headless", "ports", "endpoints"],
) as fc.Arbitrary<ExportedService>;

/** An exported service, one in five to some clusters only; several creation times are the same instant. */
export const arbitraryExport: fc.Arbitrary<ExportedService> = fc
  .tuple(exportToAll, fc.nat(4), fc.subarray([...CLUSTER_IDS, "far"]))
  .map(([exported, one, clusters]) => (one === 0 ? { ...exported, clusters } : exported));

/** An imported service; one in five was made from the desired state, of which only `ips` count. */
export const arbitraryImport: fc.Arbitrary<ImportedService> = fc
  .tuple(
    some(
      {
        managed: fc.constant(true as const),
        type: pick(["ClusterSetIP", "Headless"], ["", "headless", "ExternalName"]),
        ips: fc.array(address, { maxLength: 2 }),
        ...globalProperties,
        endpoints: fc.dictionary(pick(SOURCES, ODD_SOURCES), arbitraryEndpointGroups, {
          maxKeys: 2,
          noNullPrototype: true,
        }),
      },
      ["ips", "ports", "endpoints", "managed"],
    ) as fc.Arbitrary<ImportedService>,
    fc.nat(4),
  )
  .map(
    ([{ managed, ...imported }, one]) => (one === 0 ? { ...imported, managed } : imported) as ImportedService,
  );

/** A Service of the cluster itself: every type, with fields that do not go with it now and then. */
export const arbitraryLocalService: fc.Arbitrary<LocalService> = some(
  {
    createdAt: fc.constantFrom(
      "2026-01-01T00:00:00Z",
      "2026-01-01T01:00:00+01:00",
      "2026-03-01T12:00:00Z",
      "9999-12-31T23:59:59Z",
    ),
    serviceType: fc.constantFrom("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    headless: fc.boolean(),
    ports: globalProperties.ports,
    clusterIPs: fc.array(address, { maxLength: 2 }),
    publishNotReadyAddresses: fc.boolean(),
    externalName: pick(EXTERNAL_NAMES, ODD_EXTERNAL_NAMES),
    ownedName: pick(OWNED_NAMES, ODD_OWNED_NAMES),
    endpoints: arbitraryEndpointGroups,
  },
  ["createdAt", "serviceType", "headless", "ports", "endpoints"],
) as fc.Arbitrary<LocalService>;

/** The zone of a cluster, mostly `cluster.local`, so that the zones of several clusters meet. */
const arbitraryClusterZone: fc.Arbitrary<ClusterZone> = fc.record(
  {
    name: pick(["cluster.local", "cluster.local", "east.example.org"], ["", ".", "a..b", "clusterset.local"]),
    pods: fc.constantFrom("disabled", "insecure", "verified"),
  },
  { noNullPrototype: true },
);

const arbitraryPods: fc.Arbitrary<ClusterSnapshot["pods"]> = fc
  .array(fc.tuple(fc.constantFrom(...NAMESPACES), address), { maxLength: 4 })
  .map((pods) => Object.fromEntries(pods.map(([namespace, ip]) => [`${namespace}/${ip}`, {}])));

const arbitraryServiceKey: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom(...NAMESPACES), pick(NAMES, ODD_NAMES))
  .map(([namespace, name]) => `${namespace}/${name}`);

/** The namespaces of a cluster: mostly all that services may be in. */
const arbitraryNamespaces: fc.Arbitrary<ClusterSnapshot["namespaces"]> = usually(
  fc.constant(NAMESPACES),
  fc.subarray(NAMESPACES),
).map((names) => Object.fromEntries(names.map((name) => [name, {}])));

const finding: fc.Arbitrary<Finding> = fc.record(
  {
    reason: fc.constantFrom("InvalidServiceType", "NoService"),
    kind: fc.constant("ServiceExport"),
    namespace: fc.constantFrom(...NAMESPACES),
    name: fc.constantFrom(...NAMES),
    message: fc.constant("cannot be exported"),
  },
  { noNullPrototype: true },
);

const services = <T>(service: fc.Arbitrary<T>) =>
  fc.dictionary(arbitraryServiceKey, service, { maxKeys: 6, noNullPrototype: true });

/** Any snapshot that the schema accepts, of the cluster given or of any; odd values at a low rate. */
export function arbitrarySnapshot(
  clusterId: fc.Arbitrary<string> = arbitraryClusterId,
): fc.Arbitrary<ClusterSnapshot> {
  return some(
    {
      formatVersion: fc.constant(1 as const),
      clusterId,
      topology: some(
        { region: fc.constantFrom("eu", "us"), zones: fc.shuffledSubarray(ZONES) },
        [],
      ) as fc.Arbitrary<NonNullable<ClusterSnapshot["topology"]>>,
      namespaces: arbitraryNamespaces,
      exports: services(arbitraryExport),
      imports: services(arbitraryImport),
      clusterZone: arbitraryClusterZone,
      services: services(arbitraryLocalService),
      pods: arbitraryPods,
      findings: fc
        .array(finding, { maxLength: 2 })
        .map((list) =>
          Object.fromEntries(
            list.map((one) => [`${one.kind}/${one.namespace}/${one.name}/${one.reason}`, one]),
          ),
        ),
    },
    ["formatVersion", "clusterId", "namespaces", "exports", "imports", "services", "pods", "findings"],
  ) as fc.Arbitrary<ClusterSnapshot>;
}

/** None to four snapshots of different clusters, in any order. */
export const arbitraryWorld: fc.Arbitrary<ClusterSnapshot[]> = fc
  .shuffledSubarray(CLUSTER_IDS)
  .chain((ids) => fc.tuple(...ids.map((id) => arbitrarySnapshot(fc.constant(id)))));
