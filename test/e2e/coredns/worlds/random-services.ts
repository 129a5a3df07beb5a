import fc from "fast-check";
import type { ImportedService, ImportedSlice, Port, SliceEndpoint } from "./services.ts";

const PORT_NAMES = ["http", "https", "grpc", "dns", "metrics"];

/** Ports that differ in name and number; some have no name. */
const ports = (most: number): fc.Arbitrary<Port[]> =>
  fc
    .uniqueArray(
      fc.record({
        name: fc.constantFrom(...PORT_NAMES, ""),
        port: fc.integer({ min: 1, max: 65535 }),
        protocol: fc.constantFrom("TCP", "TCP", "UDP", "SCTP"),
      }),
      { minLength: 1, maxLength: most, selector: ({ name }) => name },
    )
    .filter((some) => new Set(some.map(({ port }) => port)).size === some.length);

const v4 = fc.integer({ min: 1, max: 12 }).map((last) => `10.20.0.${last}`);
const v6 = fc.integer({ min: 0, max: 12 }).map((last) => `fd00:20::${last === 0 ? "" : last.toString(16)}`);

const conditions = fc.constantFrom(
  undefined,
  {},
  { ready: true },
  { ready: true },
  { ready: true, serving: true, terminating: true },
  { ready: false },
  { ready: false, serving: true, terminating: true },
);

function endpointOf(address: fc.Arbitrary<string>): fc.Arbitrary<SliceEndpoint> {
  return fc
    .tuple(
      fc.uniqueArray(address, { minLength: 1, maxLength: 2 }),
      fc.constantFrom(undefined, "pod-0", "pod-1", "pod-2"),
      conditions,
    )
    .map(([addresses, hostname, some]) => ({
      addresses,
      ...(hostname === undefined ? {} : { hostname }),
      ...(some === undefined ? {} : { conditions: some }),
    }));
}

const slices: fc.Arbitrary<ImportedSlice[]> = fc.array(
  fc
    .constantFrom(
      { addressType: "IPv4", address: v4 } as const,
      { addressType: "IPv6", address: v6 } as const,
    )
    .chain(({ addressType, address }) =>
      fc.record({
        source: fc.constantFrom("cluster-a", "cluster-b", "Cluster-C", "cluster-c", "c_d"),
        addressType: fc.constant(addressType),
        ports: fc.oneof(
          { weight: 9, arbitrary: ports(2) },
          { weight: 1, arbitrary: fc.constant<Port[]>([]) },
        ),
        endpoints: fc.array(endpointOf(address), { maxLength: 4 }),
        labels: fc.constant({}),
      }),
    ),
  { maxLength: 4 },
);

const clusterSetIps = fc
  .tuple(fc.integer({ min: 1, max: 250 }), fc.constantFrom("4", "6", "46", "44"))
  .map(([last, families]) =>
    [...families].map((family, index) =>
      family === "4" ? `10.200.${index + 1}.${last}` : `fd00::c8:${index + 1}:${last.toString(16)}`,
    ),
  );

const service = fc.oneof(
  fc.tuple(clusterSetIps, ports(3), slices).map(([ips, some, backends]) => ({
    spec: { type: "ClusterSetIP" as const, ips, ports: some },
    slices: backends,
  })),
  fc
    .tuple(ports(2), slices)
    .map(([some, backends]) => ({ spec: { type: "Headless" as const, ports: some }, slices: backends })),
);

/** Services with names of their own in two namespaces, the same ones for the same seed. */
export function randomServices(count: number, seed: number): ImportedService[] {
  return fc.sample(service, { numRuns: count, seed }).map((some, index) => ({
    namespace: index % 2 === 0 ? "random-a" : "random-b",
    name: `service-${index}`,
    ...some,
  }));
}
