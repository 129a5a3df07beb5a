import fc from "fast-check";
import { expect, it } from "vitest";
import { ABSENT_CLUSTER, type ClustersetService } from "../../../src/merge/clusterset.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { expectMet } from "../../property-share.ts";
import { arbitrarySnapshot } from "../../worlds/arbitrary.ts";
import { HOSTILE, hostilePush, openWorld } from "./hostile-world.ts";

/** What one cluster decides for a service, with nothing that others add to. */
function decided(service: ClustersetService) {
  const { type, sessionAffinity, sessionAffinityTimeoutSeconds, internalTrafficPolicy, trafficDistribution } =
    service;
  const { labels, annotations } = service;
  return {
    type,
    sessionAffinity,
    sessionAffinityTimeoutSeconds,
    internalTrafficPolicy,
    trafficDistribution,
    labels,
    annotations,
  };
}

/** Whether a late cluster may add to a service: it exports it, or imports it where nobody exports it. */
function isShared({ namespace, name, exporters }: ClustersetService, hostile: ClusterSnapshot): boolean {
  const key = `${namespace}/${name}`;
  const has = (list: object) => Object.hasOwn(list, key) && Object.hasOwn(hostile.namespaces, namespace);
  return exporters.length > 0 ? has(hostile.exports) : has(hostile.imports) && !has(hostile.exports);
}

/** The addresses that are answered, in the view of a cluster or outside. */
const addressesFor = ({ byCluster, outside }: ClustersetService, view: string | undefined) =>
  ((view === undefined ? undefined : byCluster.get(view)) ?? outside).addresses;

function expectNothingDecided(before: ClustersetService, after: ClustersetService) {
  expect(decided(after)).toEqual(decided(before));
  // Who comes late adds ports that nobody has, endpoints and addresses, and takes none away.
  expect(after.ports.slice(0, before.ports.length)).toEqual(before.ports);
  expect(after.exporters.slice(0, before.exporters.length)).toEqual(before.exporters);
  expect(after.shards.slice(0, before.shards.length)).toEqual(before.shards);
  expect(after.endpoints.filter(({ reportedBy }) => reportedBy !== HOSTILE)).toEqual(before.endpoints);
  if (before.outside.source !== "none") {
    expect(after.outside.source).toBe(before.outside.source);
    expect(after.outside.hostname).toBe(before.outside.hostname);
  }
  for (const view of [undefined, ABSENT_CLUSTER, "east", "north", "west"])
    expect(addressesFor(after, view)).toEqual(expect.arrayContaining([...addressesFor(before, view)]));
}

it("a cluster that comes late to a service changes nothing that earlier ones decide; its endpoints join", async () => {
  let runs = 0;
  let shared = 0;
  await fc.assert(
    fc.asyncProperty(
      arbitrarySnapshot(fc.constant("east")),
      arbitrarySnapshot(fc.constant("north")),
      arbitrarySnapshot(fc.constant("west")),
      fc.array(hostilePush, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      async (east, north, west, pushes, hostileIsKnown) => {
        runs++;
        const world = await openWorld([east, north, west], hostileIsKnown);
        const before = world.services();
        for (const pushed of pushes) {
          await world.push(pushed, 5);
          const after = new Map(world.services().map((one) => [`${one.namespace}/${one.name}`, one]));
          for (const service of before.filter((one) => isShared(one, pushed))) {
            shared++;
            expectNothingDecided(service, after.get(`${service.namespace}/${service.name}`)!);
          }
        }
      },
    ),
    { numRuns: 150 },
  );
  expectMet(shared, runs * 0.67);
});
