import { describe, expect, it } from "vitest";
import { LocalZones } from "../../../src/zone/compiler/local-zones.ts";
import { NameKeys } from "../../../src/zone/compiler/name-keys.ts";
import type { PlannedTree } from "../../../src/zone/compiler/zone-context.ts";
import type { SourceCluster } from "../../../src/zone/zone-source.ts";
import { unzoned, zoned } from "./own-zones.ts";

/** Notes the clusters whose keys are walked: each walk goes over all keys. */
class WatchedKeys extends NameKeys<unknown> {
  walks: string[] = [];

  override keysOf(clusterId: string) {
    this.walks.push(`keysOf ${clusterId}`);
    return super.keysOf(clusterId);
  }

  override dropCluster(clusterId: string) {
    this.walks.push(`dropCluster ${clusterId}`);
    return super.dropCluster(clusterId);
  }
}

function follower() {
  const names = new WatchedKeys(1e9);
  const locals = new LocalZones();
  const mapsOf = (clusters: readonly SourceCluster[], unserved: readonly string[]) =>
    [
      new Map(clusters.map((cluster) => [cluster.clusterId, cluster])),
      new Map(
        clusters
          .filter(({ clusterId }) => !unserved.includes(clusterId))
          .map(({ clusterId, localZone }) => [
            `local:${clusterId}`,
            { zones: [localZone?.zone.name] } as unknown as PlannedTree,
          ]),
      ),
    ] as const;
  return {
    ...{ names, locals },
    assume: (...clusters: SourceCluster[]) => locals.assume(...mapsOf(clusters, [])),
    /** Follows clusters, of which some have a zone that is not served. @returns keys and walks, sorted */
    follow: (clusters: readonly SourceCluster[], unserved: readonly string[] = []) => {
      names.walks = [];
      const keys = [...new Set(locals.follow(names, ...mapsOf(clusters, unserved)))].sort();
      return [...keys, ...names.walks];
    },
  };
}

const parts = {
  namespaces: ["shop", "ops"],
  services: ["shop/web", "ops/log"],
  pods: ["shop/10.2.0.1"],
};
const east = zoned("east", parts);
const keys = ["ops/log", "shop/10-2-0-1", "shop/web"];

describe("the zones of single clusters", () => {
  it("name all keys of a zone that comes, without a walk over the others", () => {
    const { follow } = follower();
    expect(follow([east])).toEqual(keys);
    expect(follow([east, zoned("west", { services: ["shop/db"] })])).toEqual(["shop/db"]);
  });

  it("name no key of zones that stay as they are", () => {
    const { follow } = follower();
    follow([east]);
    expect(follow([zoned("east", { ...parts, namespaces: ["ops", "shop"] }), unzoned("west")])).toEqual([]);
  });

  it("name the keys in namespaces that came or left, of their cluster", () => {
    const { follow } = follower();
    const west = zoned("west", { services: ["shop/db", "data/db"] });
    follow([east, west]);
    const changed = zoned("east", { ...parts, namespaces: ["ops", "data"] });
    expect(follow([changed, west])).toEqual(["shop/10-2-0-1", "shop/web", "keysOf east"]);
    expect(follow([zoned("east", { ...parts, namespaces: ["ops", "data", "shop"] }), west])).toEqual([
      ...["shop/10-2-0-1", "shop/web", "keysOf east"],
    ]);
  });

  it.each<[string, SourceCluster]>([
    ["name", zoned("east", { ...parts, zone: { name: "other.test" } })],
    ["names of pods", zoned("east", { ...parts, zone: { pods: "disabled" } })],
  ])("name all keys that a zone has and had if its %s changed", (_, changed) => {
    const { follow, names } = follower();
    follow([east]);
    expect(follow([changed])).toEqual([...keys, "dropCluster east"]);
    expect([...names.keysOf("east")].sort()).toEqual(
      changed.localZone!.zone.pods === "disabled" ? keys.filter((key) => !key.includes("10-2")) : keys,
    );
  });

  it("name all keys if a zone is served no more, and again", () => {
    const { follow } = follower();
    follow([east]);
    expect(follow([east], ["east"])).toEqual([...keys, "dropCluster east"]);
    expect(follow([east], ["east"])).toEqual([]);
    expect(follow([east])).toEqual([...keys, "dropCluster east"]);
  });

  it("name all keys of a cluster that leaves, or that wants no zone any more", () => {
    for (const clusters of [[], [unzoned("east")]]) {
      const { follow, names } = follower();
      follow([east]);
      expect(follow(clusters)).toEqual([...keys, "dropCluster east"]);
      expect([...names.keysOf("east")]).toEqual([]);
      expect(follow(clusters)).toEqual([]);
    }
  });

  it("name no key of clusters that are assumed, until these change", () => {
    const { follow, assume, names } = follower();
    assume(east);
    names.placeService(east, "shop/web");
    expect(follow([east])).toEqual([]);
    expect(follow([zoned("east", { ...parts, namespaces: ["ops"] })])).toEqual(["shop/web", "keysOf east"]);
  });

  it("have a text that depends on settings and namespaces, not on their order or on services", () => {
    const textOf = (...clusters: SourceCluster[]) => {
      const { assume, locals } = follower();
      assume(...clusters);
      return locals.text;
    };
    const text = textOf(east);
    expect(textOf(zoned("east", { namespaces: ["ops", "shop"] }), unzoned("west"))).toBe(text);
    const others = [
      textOf(),
      textOf(zoned("west", parts)),
      textOf(zoned("east", { ...parts, namespaces: ["shop"] })),
      textOf(zoned("east", { ...parts, zone: { name: "other.test" } })),
      textOf(zoned("east", { ...parts, zone: { pods: "insecure" } })),
      textOf(east, zoned("west", parts)),
    ];
    expect(new Set([text, ...others]).size).toBe(7);
  });
});
