import { describe, expect, it } from "vitest";
import {
  ENDPOINTS_PER_EXPORT,
  EXPORTERS,
  emptyCluster,
  keyOf,
  LARGE_NAMESPACE,
  LARGE_SERVICE,
  largeExports,
  memberPatch,
  servicesOf,
  wideClusterIds,
  wideEndpoint,
  wideEndpoints,
  wideSnapshot,
  wideSnapshots,
  wideWorld,
} from "../../bench/worlds/wide-world.ts";
import { countEndpoints } from "../../bench/worlds/worlds.ts";
import { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { applyPatch } from "../snapshot/changes.ts";

const SMALL = { clusters: 7, services: 60 };

const addressesOf = (snapshots: readonly ClusterSnapshot[]) =>
  snapshots
    .flatMap(({ exports }) => Object.values(exports))
    .flatMap(({ endpoints }) => Object.values(endpoints))
    .flatMap(({ members }) => Object.values(members))
    .map(({ address }) => address);

describe("a wide world", () => {
  it.each([
    [1_000_000, 100, 50_000],
    [100_000, 10, 5000],
    [4000, 4, 200],
  ])("with %d endpoints has %d clusters and %d services", (endpoints, clusters, services) => {
    const world = wideWorld(endpoints);
    expect(world).toEqual({ clusters, services });
    expect(wideEndpoints(world)).toBe(endpoints);
  });

  it("gives snapshots by the schema, one for each cluster", () => {
    const snapshots = [...wideSnapshots(SMALL)];
    expect(snapshots.map(({ clusterId }) => clusterId)).toEqual(wideClusterIds(SMALL));
    for (const snapshot of snapshots) expect(ClusterSnapshot.parse(snapshot)).toEqual(snapshot);
  });

  it("has every service in so many clusters, and no address twice", () => {
    const snapshots = [...wideSnapshots(SMALL)];
    for (let service = 0; service < SMALL.services; service++)
      expect(snapshots.filter(({ exports }) => keyOf(service) in exports)).toHaveLength(EXPORTERS);
    expect(countEndpoints(snapshots)).toBe(wideEndpoints(SMALL));
    expect(new Set(addressesOf(snapshots)).size).toBe(wideEndpoints(SMALL));
  });

  it("has no address twice at 1,000,000 endpoints either", () => {
    const world = wideWorld(1_000_000);
    const seen = new Uint8Array(1 << 24);
    for (let cluster = 0; cluster < world.clusters; cluster++)
      for (const service of servicesOf(world, cluster))
        for (let ordinal = 0; ordinal < ENDPOINTS_PER_EXPORT; ordinal++) {
          const [, { address }] = wideEndpoint(world, cluster, service, ordinal);
          const [first, second, third, fourth] = address.split(".").map(Number);
          if (first !== 10) throw new Error(`${address} is not private`);
          const number = ((second! << 16) | (third! << 8) | fourth!) >>> 0;
          seen[number]! += 1;
        }
    expect(seen.reduce((sum, count) => sum + count, 0)).toBe(1_000_000);
    expect(seen.every((count) => count <= 1)).toBe(true);
  });

  it("makes a snapshot when it is read", () => {
    const [first] = wideSnapshots({ clusters: 1_000_000, services: 10 });
    expect(first?.clusterId).toBe("cluster-1");
  });

  it("has the endpoints that its changes replace", () => {
    const snapshot = wideSnapshot(SMALL, 3);
    const [service] = servicesOf(SMALL, 3);
    const [member, endpoint] = wideEndpoint(SMALL, 3, service!, 2);
    const moved = { ...endpoint, address: "10.255.0.1" };
    const patch = memberPatch({ [member]: null, [`10.255.0.1#${endpoint.hostname}`]: moved });
    const changed = applyPatch(snapshot, { exports: { [keyOf(service!)]: patch } });
    expect(countEndpoints([changed])).toBe(countEndpoints([snapshot]));
    expect(addressesOf([changed])).not.toContain(endpoint.address);
    expect(addressesOf([changed])).toContain("10.255.0.1");
  });
});

describe("exports of a large cluster", () => {
  const snapshot = (endpoints: number, variant?: number): ClusterSnapshot => ({
    ...emptyCluster("large", [LARGE_NAMESPACE]),
    exports: Object.fromEntries(largeExports(endpoints, variant)),
  });

  it("make a snapshot by the schema, with so many endpoints, rounded up to whole services", () => {
    const large = snapshot(LARGE_SERVICE * 3 - 1);
    expect(ClusterSnapshot.parse(large)).toEqual(large);
    expect(countEndpoints([large])).toBe(LARGE_SERVICE * 3);
  });

  it("have other addresses in each variant", () => {
    const addresses = new Set(addressesOf([snapshot(3000), snapshot(3000, 1)]));
    expect(addresses.size).toBe(6000);
  });
});
