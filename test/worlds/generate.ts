import type { ClusterSnapshot, Endpoint, ExportedService } from "../../src/snapshot/schema.ts";

/** The size of a generated world. */
export interface WorldSize {
  readonly clusters: number;
  /** Services of the clusterset; each cluster exports every one of them. */
  readonly services: number;
  /** Endpoints of one service in one cluster. */
  readonly endpointsPerService: number;
  /** Share of headless services, 0 to 1; their endpoints have hostnames. */
  readonly headlessShare: number;
  /** The same seed gives the same world, byte for byte. */
  readonly seed: number;
}

/** 10,000 services and 100,000 endpoints in two clusters: the size that the benchmarks report. */
export const BENCH_WORLD: WorldSize = {
  clusters: 2,
  services: 10_000,
  endpointsPerService: 5,
  headlessShare: 0.5,
  seed: 1,
};

const SERVICES_PER_NAMESPACE = 100;
const FIRST_EXPORT = Date.UTC(2025, 0, 1);
/** In seconds: a creation time in the future would be a finding. */
const EXPORTING = 365 * 86_400;
const ZONE_LETTERS = ["a", "b", "c"];

/** A large world in which nothing is odd, nothing disagrees, and every cluster exports every service. */
export function generateWorld(size: WorldSize): ClusterSnapshot[] {
  return Array.from({ length: size.clusters }, (_, index) => generateSnapshot(size, index));
}

function generateSnapshot(size: WorldSize, cluster: number): ClusterSnapshot {
  const random = startRandom(size.seed * 1000 + cluster);
  const clusterId = `cluster-${cluster + 1}`;
  const zones = ZONE_LETTERS.map((letter) => `${clusterId}-${letter}`);
  const namespaces: ClusterSnapshot["namespaces"] = {};
  const exports: ClusterSnapshot["exports"] = {};
  const imports: ClusterSnapshot["imports"] = {};
  const headlessServices = Math.round(size.services * size.headlessShare);
  let pod = 0;
  for (let index = 0; index < size.services; index++) {
    const namespace = `team-${Math.floor(index / SERVICES_PER_NAMESPACE)}`;
    const name = `service-${index}`;
    const key = `${namespace}/${name}`;
    const headless = index < headlessServices;
    const members: Record<string, Endpoint> = {};
    for (let ordinal = 0; ordinal < size.endpointsPerService; ordinal++) {
      const address = bytes(10, cluster + 1, pod++);
      const zone = zones[Math.floor(random() * zones.length)]!;
      const hostname = headless ? `${name}-${ordinal}` : undefined;
      members[hostname === undefined ? address : `${address}#${hostname}`] = {
        address,
        zone,
        ...(hostname === undefined ? {} : { hostname }),
      };
    }
    namespaces[namespace] = {};
    const ports = [
      { name: "http", protocol: "TCP", port: 80 },
      { name: "metrics", protocol: "TCP", port: 9090 },
    ];
    const exported: ExportedService = {
      exportedAt: new Date(FIRST_EXPORT + Math.floor(random() * EXPORTING) * 1000).toISOString(),
      serviceType: "ClusterIP",
      headless,
      ports,
      ipFamilies: ["IPv4"],
      endpoints: {
        "http/TCP/8080,metrics/TCP/9090": {
          ports: [
            { name: "http", protocol: "TCP", port: 8080 },
            { name: "metrics", protocol: "TCP", port: 9090 },
          ],
          members,
        },
      },
    };
    exports[key] = headless ? exported : { ...exported, clusterIPs: [bytes(172, 20 + cluster, index)] };
    imports[key] = {
      type: headless ? "Headless" : "ClusterSetIP",
      ips: headless ? [] : [bytes(172, 16, index)],
      ports,
      endpoints: {},
    };
  }
  return {
    formatVersion: 1,
    clusterId,
    topology: { region: `region-${cluster + 1}`, zones },
    namespaces,
    exports,
    imports,
    services: {},
    pods: {},
    findings: {},
  };
}

/** `<first>.<second>.x.y`; past 65,536 the second byte grows. */
function bytes(first: number, second: number, number: number): string {
  return `${first}.${second + 16 * (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
}

/** mulberry32: a small generator whose sequence is fixed by its seed. */
function startRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
