import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MergeOptions, Remembered } from "../../src/merge/merge.ts";
import type { AdjustedTime } from "../../src/merge/service/declaration.ts";
import type { Visibility } from "../../src/merge/visibility/visibility.ts";
import { drain } from "../../src/snapshot/drain.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { expectMet } from "../property-share.ts";
import { arbitraryClusterId, arbitraryServiceKey, arbitrarySnapshot } from "../worlds/arbitrary.ts";
import { exported, exporting, imported, snapshot } from "./fixtures.ts";
import { createIndexed } from "./indexed.ts";
import { seeWorld } from "./seen-world.ts";
import { mergeWhole } from "./whole-merge.ts";

type Step =
  | { readonly do: "push"; readonly snapshot: ClusterSnapshot }
  | { readonly do: "leave"; readonly clusterId: string }
  | { readonly do: "absent"; readonly isThere: boolean }
  | { readonly do: "rank"; readonly clusterId: string; readonly key: string; readonly at: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: arbitrarySnapshot().map((one): Step => ({ do: "push", snapshot: one })),
  },
  { weight: 2, arbitrary: arbitraryClusterId.map((clusterId): Step => ({ do: "leave", clusterId })) },
  { weight: 1, arbitrary: fc.boolean().map((isThere): Step => ({ do: "absent", isThere })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(arbitraryClusterId, arbitraryServiceKey, fc.nat({ max: 2e12 }))
      .map(([clusterId, key, at]): Step => ({ do: "rank", clusterId, key, at })),
  },
);

const visibilities: fc.Arbitrary<Visibility> = fc.constantFrom<Visibility[]>(
  {},
  { clusters: ["east", "west"] },
  { namespaces: ["shop"] },
  { addressRanges: ["10.0.0.0/8"] },
  { clusters: ["west"], namespaces: ["shop", "default"], addressSources: ["Endpoint"] },
);
const options: fc.Arbitrary<MergeOptions> = fc.constantFrom<MergeOptions[]>(
  {},
  { grants: new Map([["west", "*" as const]]), outsideOrder: ["Endpoint", "ClusterSetIP"] },
  {
    pins: { exports: new Map([["east", ["shop"]]]), owners: [{ service: "shop/*", owner: "west" }] },
  },
);

/** Ranks by cluster and service, which change. */
class Ranks implements Remembered {
  readonly #adjusted = new Map<string, Map<string, AdjustedTime>>();
  readonly #since = new Map<string, Map<string, number>>();

  set(clusterId: string, key: string, at: number): void {
    if (!this.#adjusted.has(clusterId)) this.#adjusted.set(clusterId, new Map());
    if (!this.#since.has(clusterId)) this.#since.set(clusterId, new Map());
    this.#adjusted.get(clusterId)!.set(key, { counts: at, because: undefined });
    this.#since.get(clusterId)!.set(key, at);
  }

  adjusted(clusterId: string): ReadonlyMap<string, AdjustedTime> | undefined {
    return this.#adjusted.get(clusterId);
  }

  importedSince(clusterId: string): ReadonlyMap<string, number> | undefined {
    return this.#since.get(clusterId);
  }
}

describe("the index", () => {
  it("has what merging the last snapshots as a whole has, whatever was pushed, in whatever slices", () => {
    let [runs, services] = [0, 0];
    fc.assert(
      fc.property(
        fc.array(fc.tuple(step, fc.nat({ max: 12 })), { minLength: 2, maxLength: 10 }),
        visibilities,
        options,
        fc.constantFrom(0, 2000, 1_000_000),
        (steps, visibility, settings, mostUnpacked) => {
          const remembered = new Ranks();
          const indexed = createIndexed({ ...settings, visibility, remembered, mostUnpacked });
          let world: ClusterSnapshot[] = [];
          let withAbsent = false;
          let settling: Generator<void> | undefined;
          for (const [one, slice] of steps) {
            if (one.do === "push") {
              world = world.filter(({ clusterId }) => clusterId !== one.snapshot.clusterId);
              world.push(one.snapshot);
            } else if (one.do === "leave")
              world = world.filter(({ clusterId }) => clusterId !== one.clusterId);
            else if (one.do === "absent") withAbsent = one.isThere;
            else {
              remembered.set(one.clusterId, one.key, one.at);
              drain(indexed.index.reconsider(one.clusterId, [one.key]));
            }
            indexed.services.withAbsent = withAbsent;
            indexed.follow(world);
            // Changes come while services are merged.
            settling ??= indexed.services.settle();
            for (let count = 0; count < slice && settling !== undefined; count++)
              if (settling.next().done) settling = undefined;
          }
          if (settling !== undefined) drain(settling);
          const settled = indexed.settled();
          const seen = seeWorld(visibility, world);
          expect(settled).toEqual(mergeWhole(seen, settings, remembered, withAbsent));
          expect(indexed.services.hasChanged).toBe(false);
          for (const { clusterId, exports, imports } of seen)
            expect(indexed.services.countsOf(clusterId)).toEqual({
              exports: Object.keys(exports).length,
              imports: Object.keys(imports).length,
            });
          services += settled.services.length;
          runs++;
        },
      ),
      { numRuns: 300 },
    );
    expectMet(services, runs);
  });

  it("merges no service but those that a change names", () => {
    const many = Object.fromEntries(
      Array.from({ length: 1000 }, (_, number) => [`shop/s${number}`, exported()]),
    );
    const west = snapshot("west", { exports: many });
    const { follow, services, merge } = createIndexed();
    merge([west, exporting("east")]);
    follow([{ ...west, exports: { ...many, "shop/s7": exported({ headless: true }) } }, exporting("east")]);
    expect([...drain(services.settle()).services]).toEqual(["shop/s7"]);
  });

  it.each<[string, ClusterSnapshot, readonly string[]]>([
    ["a namespace", snapshot("east", { namespaces: { shop: {}, other: {} } }), ["other/api"]],
    ["no namespace", snapshot("east", { namespaces: {} }), ["shop/web"]],
    [
      "an import of a service",
      snapshot("east", { namespaces: { shop: {} }, imports: { "shop/web": imported() } }),
      ["shop/web"],
    ],
  ])("merges the services that a cluster with %s sees in another way", (_, east, expected) => {
    const west = snapshot("west", {
      namespaces: { shop: {}, other: {} },
      exports: {
        "shop/web": exported(),
        "other/api": exported(),
        // A headless service is the same for all importers.
        "other/db": exported({ headless: true }),
      },
    });
    const { follow, services, merge } = createIndexed();
    merge([west, snapshot("east")]);
    follow([west, east]);
    expect([...drain(services.settle()).services]).toEqual(expected);
  });
});
