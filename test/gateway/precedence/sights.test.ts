import { describe, expect, it } from "vitest";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import { CLOCK_TOLERANCE, FIRST_SERVICE_EXPORT } from "../../../src/gateway/remembered/judge.ts";
import { Ranks } from "../../../src/gateway/remembered/ranks.ts";
import { isSameTime, SeenCluster } from "../../../src/gateway/remembered/seen-cluster.ts";
import { Sights } from "../../../src/gateway/remembered/sights.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import type { RememberedStore } from "../../../src/store/remembered/remembered-store.ts";

const NOW = Date.UTC(2026, 5, 1);
const text = (time: number) => new Date(time).toISOString().replace(".000Z", "Z");
const seenOf = (
  exports: Record<string, readonly [reported: number, counts: number]>,
  imports: Record<string, number> = {},
) => {
  const ranks = new Ranks();
  for (const [key, [reported, counts]] of Object.entries(exports))
    ranks.set(key, { reported: text(reported), counts });
  return new SeenCluster({
    generation: 3,
    seenAt: NOW,
    exports: ranks,
    imports: new Map(Object.entries(imports)),
  });
};

describe("a cluster as it is remembered", () => {
  it("has the exports whose reported time does not count, and why", () => {
    const cluster = seenOf({
      "shop/own": [NOW, NOW],
      "shop/near": [NOW - CLOCK_TOLERANCE, NOW],
      "shop/late": [NOW - CLOCK_TOLERANCE - 1000, NOW],
      "shop/early": [NOW + CLOCK_TOLERANCE + 1000, NOW],
      "shop/odd": [FIRST_SERVICE_EXPORT - 1000, NOW],
    });
    expect(Object.fromEntries(cluster.adjusted)).toEqual({
      "shop/near": { counts: NOW, because: undefined },
      "shop/late": { counts: NOW, because: "unseen" },
      "shop/early": { counts: NOW, because: "future" },
      "shop/odd": { counts: NOW, because: "impossible" },
    });
    cluster.setExport("shop/odd", { reported: text(NOW), counts: NOW });
    cluster.setExport("shop/late", undefined);
    expect([...cluster.adjusted.keys()]).toEqual(["shop/near", "shop/early"]);
    expect([cluster.exports.has("shop/odd"), cluster.exports.has("shop/late")]).toEqual([true, false]);
  });

  it("knows the latest time in it, whatever it is of", () => {
    expect(SeenCluster.unseen(1, NOW).latest).toBe(NOW);
    expect(seenOf({ "shop/web": [NOW, NOW + 2] }, { "shop/web": NOW + 1 }).latest).toBe(NOW + 2);
    expect(seenOf({ "shop/web": [NOW, NOW + 2] }, { "shop/web": NOW + 3 }).latest).toBe(NOW + 3);
    expect(seenOf({ "shop/web": [NOW, NOW - 2] }, { "shop/web": NOW - 3 }).latest).toBe(NOW);
  });

  it("takes imports in, and out again", () => {
    const cluster = seenOf({}, { "shop/web": 1 });
    cluster.setImport("shop/api", 2);
    cluster.setImport("shop/web", undefined);
    expect([...cluster.imports]).toEqual([["shop/api", 2]]);
    expect(cluster.isCurrent).toBe(false);
  });

  it("has a record of its own name", () => {
    expect(SeenCluster.recordName("west")).toBe("exports@west");
    expect(
      ["exports@west", "addresses@00", "@founding"].map((name) => SeenCluster.clusterIdOf(name)),
    ).toEqual([...["west", undefined, undefined]]);
  });

  it.each([
    [text(NOW), text(NOW), true],
    [text(NOW), text(NOW).replace("Z", "+00:00"), true],
    [text(NOW), text(NOW + 1000), false],
    ["no time", "no time", true],
    ["no time", "none", false],
  ])("%s and %s are the same time: %s", (one, other, expected) => {
    expect(isSameTime(one, other)).toBe(expected);
  });
});

describe("what the gateway has seen", () => {
  function open() {
    const kept: string[] = [];
    const held = { failing: false };
    const events: GatewayEvent[] = [];
    const store = {
      keep: async (name: string) => {
        if (held.failing) throw new Error("disk full");
        kept.push(name);
      },
    } as unknown as RememberedStore;
    const turns = { run: async <Result>(steps: Generator<void, Result>) => drain(steps) };
    return { kept, held, events, sights: new Sights(store, turns, (event) => void events.push(event)) };
  }

  it("has times that only grow, though the clock goes back", () => {
    const { sights } = open();
    expect(sights.instant(NOW)).toBe(NOW);
    sights.reach(NOW);
    sights.reach(NOW - 5);
    expect([sights.instant(NOW - 10), sights.instant(NOW), sights.instant(NOW + 1)]).toEqual([
      NOW + 1,
      NOW + 1,
      NOW + 1,
    ]);
    sights.load("west", seenOf({}, { "shop/web": NOW + 50 }));
    expect(sights.instant(NOW)).toBe(NOW + 51);
  });

  it("is kept once it has changed, with the first day", async () => {
    const { kept, sights } = open();
    expect(sights.isEmpty).toBe(true);
    sights.load("west", SeenCluster.unseen(1, NOW));
    expect([sights.isEmpty, sights.get("west")?.generation]).toEqual([false, 1]);
    await sights.keepAll();
    expect(kept).toEqual([]);
    sights.pass(NOW);
    sights.set("east", SeenCluster.unseen(1, NOW));
    sights.set("west", SeenCluster.unseen(2, NOW));
    await sights.keep("east");
    expect(kept).toEqual(["@founding", "exports@east"]);
    await sights.keep("east");
    await sights.keep("unknown");
    expect(kept).toHaveLength(2);
    await sights.keepAll();
    expect(kept.slice(2)).toEqual(["exports@west"]);
  });

  it("that cannot be kept is reported once, and kept with the next change", async () => {
    const { kept, held, events, sights } = open();
    held.failing = true;
    sights.set("west", SeenCluster.unseen(1, NOW));
    await sights.keep("west");
    await sights.keep("west");
    expect(events).toEqual([
      { event: "memory-not-kept", record: "exports@west", error: new Error("disk full") },
    ]);
    held.failing = false;
    await sights.keep("west");
    expect(kept).toEqual(["exports@west"]);
    held.failing = true;
    sights.set("west", SeenCluster.unseen(2, NOW));
    await sights.keep("west");
    expect(events).toHaveLength(2);
  });
});
