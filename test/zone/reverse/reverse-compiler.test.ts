import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { day, endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { expectMet } from "../../property-share.ts";
import { compileEach, expectSame, source } from "../compile-worlds.ts";

const CLUSTERS = ["east", "north", "west"];
const SERVICES = ["a", "b", "c", "d"];
/** So few that services often want the same ones. Some addresses of 16 bytes begin as those of 4 bytes do. */
const ADDRESSES = Array.from({ length: 12 }, (_, index) => [
  `10.0.0.${index + 1}`,
  `fd00::${index.toString(16)}`,
  `a00:${index + 1}:1::7`,
]).flat();

const address = fc.constantFrom(...ADDRESSES);
const member = fc.record(
  {
    address,
    hostname: fc.constantFrom("web-0", "web-1", "10-0-0-1", "fd00--1"),
    ready: fc.constantFrom(true, true, false),
  },
  { requiredKeys: ["address"] },
);
const since = fc.integer({ min: 1, max: 28 }).map(day);

/** What one cluster reports of one service, if anything. */
const part = fc.oneof(
  { weight: 2, arbitrary: fc.constant(undefined) },
  {
    weight: 4,
    arbitrary: fc.record({
      headless: fc.constant(true),
      since,
      members: fc.array(member, { maxLength: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ headless: fc.constant(false), since, ips: fc.array(address, { maxLength: 3 }) }),
  },
);
const cluster = fc.record({
  isLive: fc.constantFrom(true, true, true, false),
  hasZone: fc.boolean(),
  parts: fc.array(part, { minLength: SERVICES.length, maxLength: SERVICES.length }),
});
const world = fc
  .array(cluster, { minLength: CLUSTERS.length, maxLength: CLUSTERS.length })
  .map((clusters) =>
    clusters.flatMap(({ isLive, hasZone, parts }, index) =>
      isLive ? snapshotOf(CLUSTERS[index]!, hasZone, parts) : [],
    ),
  );

type Part = typeof part extends fc.Arbitrary<infer Value> ? Value : never;

function snapshotOf(clusterId: string, hasZone: boolean, parts: readonly Part[]): ClusterSnapshot {
  const exports: Record<string, ReturnType<typeof exported>> = {};
  const imports: Record<string, ReturnType<typeof imported>> = {};
  const services: Record<string, ClusterSnapshot["services"][string]> = {};
  for (const [index, one] of parts.entries()) {
    if (one === undefined) continue;
    const key = `shop/${SERVICES[index]}`;
    const { headless } = one;
    const groups = "members" in one ? endpoints(...one.members) : {};
    exports[key] = exported({ headless, exportedAt: one.since, endpoints: groups });
    const clusterIPs = "ips" in one ? [...new Set(one.ips)] : [];
    if (!headless) imports[key] = imported({ ips: clusterIPs });
    services[key] = {
      ...{ createdAt: one.since, serviceType: "ClusterIP", headless, clusterIPs, ports: [] },
      endpoints: groups,
    };
  }
  const parted = { exports, imports, services };
  return snapshot(
    clusterId,
    hasZone ? { ...parted, clusterZone: { name: "own.example", pods: "disabled" } } : parted,
  );
}

describe("reverse names of worlds in which services want the same addresses", () => {
  it.each([1, 3, 1e9])("are those of a compilation from scratch, in segments of %d records", (reverse) => {
    let runs = 0;
    let contested = 0;
    let settled = 0;
    fc.assert(
      fc.property(fc.array(world, { minLength: 2, maxLength: 5 }), (worlds) => {
        const sources = worlds.map(source);
        const weights = { names: 6, reverse };
        const changed = compileEach(sources, "changes", weights);
        const scratch = compileEach(sources, "scratch", weights);
        expectSame(changed, scratch);
        const sizes = changed.map(({ reverse: { orders } }) => orders.size);
        runs++;
        contested += Math.max(...sizes);
        settled += sizes.filter((size, index) => size < (sizes[index - 1] ?? 0)).length;
      }),
      { numRuns: 120 },
    );
    expectMet(contested, runs);
    expectMet(settled, runs / 6);
  });
});

describe("reverse names of services with many addresses", () => {
  const MANY = Array.from({ length: 200 }, (_, index) =>
    index % 2 === 0 ? `10.1.0.${index}` : `fd00::${index.toString(16)}`,
  );
  const service = fc.record({
    since,
    has: fc.subarray(MANY, { minLength: 60 }),
    named: fc.constantFrom(undefined, "web", "db"),
  });
  const manyWorlds = fc.array(fc.tuple(service, service, service), { minLength: 2, maxLength: 4 });

  /** Each cluster has a service of its own, and nearly all addresses in common with the others. */
  const snapshots = (
    services: readonly (typeof service extends fc.Arbitrary<infer Value> ? Value : never)[],
  ) =>
    services.map(({ since: exportedAt, has, named }, index) => {
      const members = has.map((own) => ({
        address: own,
        ...(named && { hostname: `${named}-${own.length}` }),
      }));
      const web = exported({ headless: true, exportedAt, endpoints: endpoints(...members) });
      return snapshot(CLUSTERS[index]!, { exports: { [`shop/${SERVICES[index]}`]: web } });
    });

  it("are those of a compilation from scratch while segments are divided and joined", () => {
    fc.assert(
      fc.property(manyWorlds, fc.constantFrom(1, 2, 3), (worlds, used) => {
        // One service alone has addresses that nobody contests; without services all leaves are joined.
        const sources = [...worlds, [], worlds[0]!].map((one) => source(snapshots(one.slice(0, used))));
        const weights = { names: 160, reverse: 20 };
        const changed = compileEach(sources, "changes", weights);
        const scratch = compileEach(sources, "scratch", weights);
        expectSame(changed, scratch);
        expect([...changed[0]!.generation.reverseSegments()].length).toBeGreaterThan(2);
      }),
      { numRuns: 40 },
    );
  });
});
