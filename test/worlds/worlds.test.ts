import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { arbitrarySnapshot, arbitraryWorld } from "./arbitrary.ts";
import { generateWorld, type WorldSize } from "./generate.ts";

const SMALL: WorldSize = { clusters: 2, services: 20, endpointsPerService: 3, headlessShare: 0.25, seed: 7 };

const countMembers = (snapshot: ClusterSnapshot) =>
  Object.values(snapshot.exports)
    .flatMap(({ endpoints }) => Object.values(endpoints))
    .reduce((sum, { members }) => sum + Object.keys(members).length, 0);

describe("arbitrary worlds", () => {
  it("are snapshots by the schema, unchanged by it", () => {
    fc.assert(
      fc.property(arbitrarySnapshot(), (snapshot) => {
        expect(ClusterSnapshot.parse(snapshot)).toEqual(snapshot);
      }),
    );
  });

  it("have one snapshot a cluster", () => {
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        expect(new Set(world.map(({ clusterId }) => clusterId)).size).toBe(world.length);
      }),
    );
  });

  it("have clusters that meet in a service, and odd values at a low rate", () => {
    const worlds = fc.sample(arbitraryWorld, { numRuns: 200, seed: 1 });
    const met = worlds.filter((world) => {
      const keys = world.flatMap(({ exports }) => Object.keys(exports));
      return new Set(keys).size < keys.length;
    });
    expect(met.length).toBeGreaterThan(50);
    const ports = worlds
      .flat()
      .flatMap(({ exports }) => Object.values(exports))
      .flatMap(({ ports }) => ports);
    const odd = ports.filter(({ port }) => port < 1 || port > 65535).length;
    expect(odd).toBeGreaterThan(0);
    expect(odd).toBeLessThan(ports.length / 10);
  });
});

describe("zones of single clusters in arbitrary worlds", () => {
  it("come in every mode, with every type of Service and names owned by aliases", () => {
    const snapshots = fc.sample(arbitrarySnapshot(), { numRuns: 200, seed: 1 });
    const modes = new Set(snapshots.map(({ clusterZone }) => clusterZone?.pods));
    expect(modes).toEqual(new Set([undefined, "disabled", "insecure", "verified"]));
    const services = snapshots.flatMap(({ services }) => Object.values(services));
    expect(new Set(services.map(({ serviceType }) => serviceType)).size).toBe(4);
    const aliases = services.filter(({ serviceType }) => serviceType === "ExternalName");
    expect(aliases.some(({ ownedName }) => ownedName?.includes("."))).toBe(true);
    expect(snapshots.some(({ pods }) => Object.keys(pods).length > 1)).toBe(true);
  });

  it("are not part of generated ones", () => {
    for (const { clusterZone, services, pods } of generateWorld(SMALL))
      expect({ clusterZone, services, pods }).toEqual({ clusterZone: undefined, services: {}, pods: {} });
  });
});

describe("generateWorld", () => {
  it("gives snapshots by the schema", () => {
    for (const snapshot of generateWorld(SMALL)) expect(ClusterSnapshot.parse(snapshot)).toEqual(snapshot);
  });

  it("has the requested size", () => {
    const world = generateWorld(SMALL);
    expect(world.map(({ clusterId }) => clusterId)).toEqual(["cluster-1", "cluster-2"]);
    for (const snapshot of world) {
      expect(Object.keys(snapshot.exports)).toHaveLength(20);
      expect(Object.values(snapshot.exports).filter(({ headless }) => headless)).toHaveLength(5);
      expect(countMembers(snapshot)).toBe(60);
    }
  });

  it("is fixed by its seed", () => {
    expect(generateWorld(SMALL)).toEqual(generateWorld(SMALL));
    expect(generateWorld({ ...SMALL, seed: 8 })).not.toEqual(generateWorld(SMALL));
  });

  it("gives every endpoint an address of its own, past 65,536 too", () => {
    const world = generateWorld({ ...SMALL, services: 7000, endpointsPerService: 10 });
    const addresses = world.flatMap(({ exports }) =>
      Object.values(exports).flatMap(({ endpoints }) =>
        Object.values(endpoints).flatMap(({ members }) =>
          Object.values(members).map(({ address }) => address),
        ),
      ),
    );
    expect(new Set(addresses).size).toBe(140_000);
  });
});
