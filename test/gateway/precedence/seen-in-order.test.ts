import { describe, expect, it } from "vitest";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import { FOUNDING_RECORD } from "../../../src/gateway/remembered/founding.ts";
import { FIRST_SERVICE_EXPORT, Precedence } from "../../../src/gateway/remembered/precedence.ts";
import { packRecord, type ResumedCluster } from "../../../src/gateway/remembered/recover.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import type { HeldDelta } from "../../../src/snapshot/entry-changes.ts";
import { heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { JsonText } from "../../../src/store/remembered/json-text.ts";
import type { RememberedStore } from "../../../src/store/remembered/remembered-store.ts";
import { exported, imported, snapshot } from "../../merge/fixtures.ts";

const NOW = Date.UTC(2026, 5, 10);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const iso = (time: number) => new Date(time).toISOString();
const FOUNDED = { [FOUNDING_RECORD]: { at: 0, over: true } };

/** A cluster that exports and imports services of "shop", given with the creation times of the exports. */
const cluster = (clusterId: string, exports: Record<string, number>, imports: readonly string[] = []) =>
  snapshot(clusterId, {
    exports: Object.fromEntries(
      Object.entries(exports).map(([key, at]) => [key, exported({ exportedAt: iso(at) })]),
    ),
    imports: Object.fromEntries(imports.map((key) => [key, imported()])),
  });

const record = (
  seenAt: number,
  exports: Record<string, number> = {},
  imports: Record<string, number> = {},
) => ({
  ...{ generation: 5, seenAt, imports },
  exports: Object.fromEntries(Object.entries(exports).map(([key, at]) => [key, [iso(at), at]])),
});

const stored = (held: ClusterSnapshot, generation: number, pushedAt: number, renewedAt = pushedAt) => ({
  ...{ clusterId: held.clusterId, state: heldSnapshot(held), live: true },
  meta: { generation, pushedAt, renewedAt, expiresAt: NOW + HOUR },
});

async function open(
  records: Record<string, unknown> = FOUNDED,
  clusters: readonly ResumedCluster[] = [],
  now = NOW,
) {
  const kept = new Map<string, unknown>();
  const events: GatewayEvent[] = [];
  const keep = async (name: string, value: unknown) =>
    void kept.set(name, value instanceof JsonText ? JSON.parse(value.text) : value);
  const values = Object.entries(records).map(([name, value]) => [name, packRecord(name, value)] as const);
  const precedence = await Precedence.open({
    ...{ store: { keep } as unknown as RememberedStore, onEvent: (event) => void events.push(event), now },
    turns: { run: async (steps) => drain(steps) },
    ...{ records: { values: new Map(values), damage: [] }, stored: clusters },
  });
  const see = (
    held: ClusterSnapshot,
    at: number,
    { generation = 1, live = true, change }: { generation?: number; live?: boolean; change?: HeldDelta } = {},
  ) =>
    drain(
      precedence.see(
        { clusterId: held.clusterId, state: heldSnapshot(held) },
        { now: at, live, generation },
        change ?? "everything",
      ),
    );
  const since = (clusterId: string) => Object.fromEntries(precedence.importedSince(clusterId) ?? []);
  return { precedence, kept, events, see, since };
}

const changeOf = (...names: readonly string[]): HeldDelta => ({
  entries: names.map((name) => {
    const [collection, ...key] = name.split(" ");
    return { collection, key: key.join(" "), entry: undefined };
  }) as HeldDelta["entries"],
  singles: {},
});
const FINDING = "findings ServiceExport/shop/db/NoService";

describe("a sight of a cluster", () => {
  it("names the services whose rank changed", async () => {
    const { see, since } = await open();
    const web = { "shop/web": NOW - HOUR };
    expect(see(cluster("west", web, ["shop/db"]), NOW)).toEqual(["shop/web", "shop/db"]);
    expect(see(cluster("west", web, ["shop/db"]), NOW)).toEqual([]);
    const otherForm = snapshot("west", {
      exports: { "shop/web": exported({ exportedAt: iso(NOW - HOUR).replace(".000Z", "+00:00") }) },
      imports: { "shop/db": imported() },
    });
    expect(see(otherForm, NOW)).toEqual([]);
    expect(see(cluster("west", { "shop/web": NOW }, ["shop/db"]), NOW)).toEqual(["shop/web"]);
    expect(see(cluster("west", { "shop/web": NOW }), NOW)).toEqual(["shop/db"]);
    expect(since("west")).toEqual({});
    expect(see(cluster("west", {}), NOW)).toEqual(["shop/web"]);
    expect(see({ ...cluster("west", web), namespaces: {} }, NOW)).toEqual([]);
  });

  it("looks only at what changed since the last one, and at everything after the cluster left", async () => {
    const { precedence, see } = await open();
    const both = cluster("west", { "shop/api": NOW, "shop/web": NOW });
    expect(see(cluster("west", {}), NOW)).toEqual([]);
    expect(see(both, NOW, { change: changeOf(FINDING, "exports shop/api") })).toEqual(["shop/api"]);
    await precedence.parted("west");
    expect(see(both, NOW, { change: changeOf("exports shop/api") })).toEqual(["shop/web"]);
    expect((await open()).see(both, NOW, { change: changeOf("exports shop/api") })).toHaveLength(2);
  });

  it("that finds no rank to judge takes no place in the order, and counts as the last one", async () => {
    const { precedence, see, since, kept } = await open();
    see(cluster("west", {}, ["shop/db"]), NOW);
    for (let times = 0; times < 3; times++)
      expect(see(cluster("west", {}), NOW, { change: changeOf(FINDING) })).toEqual([]);
    see(cluster("east", {}, ["shop/db"]), NOW);
    see(cluster("north", {}, ["shop/db"]), NOW);
    expect(["west", "east", "north"].map(since)).toEqual(
      [NOW, NOW + 1, NOW + 2].map((at) => ({ "shop/db": at })),
    );
    see(cluster("west", {}), NOW + HOUR, { change: changeOf(FINDING) });
    await precedence.parted("west");
    expect(kept.get("exports@west")).toEqual({
      ...{ generation: 1, seenAt: NOW + HOUR, exports: {}, imports: { "shop/db": NOW } },
    });
    // Nor does a clock that goes back make anybody earlier.
    see(cluster("south", {}, ["shop/db"]), NOW);
    expect(since("south")).toEqual({ "shop/db": NOW + HOUR + 1 });
  });

  it.each([
    ["seen for the first time", FOUNDED],
    ["remembered from a time that is none", { ...FOUNDED, "exports@west": record(5) }],
  ])(
    "judges nothing of a cluster %s before the clock is set, and everything when it is",
    async (_, records) => {
      const { see, since } = await open(records, [], FIRST_SERVICE_EXPORT - 1);
      const held = cluster("west", {}, ["shop/api", "shop/db"]);
      const change = changeOf("imports shop/db");
      expect(see(held, FIRST_SERVICE_EXPORT - 1, { change })).toEqual([]);
      expect(since("west")).toEqual({});
      expect(see(held, FIRST_SERVICE_EXPORT, { change })).toEqual(["shop/api", "shop/db"]);
      expect(since("west")["shop/db"]).toBe(FIRST_SERVICE_EXPORT);
    },
  );

  it("gives imports of the first day its beginning", async () => {
    const { see, since } = await open({});
    see(cluster("west", {}, ["shop/db"]), NOW + HOUR);
    expect(since("west")).toEqual({ "shop/db": NOW });
  });

  it("has the generation of the push that last changed a rank", async () => {
    const { precedence, see } = await open();
    const generations: number[] = [];
    for (const [generation, imports] of [["shop/db"], ["shop/db"], [], []].entries()) {
      see(cluster("west", {}, imports), NOW, { generation: generation + 3 });
      generations.push(precedence.rankedSince("west"));
    }
    expect(generations).toEqual([3, 3, 5, 5]);
    see(cluster("empty", {}), NOW, { generation: 9 });
    expect(precedence.rankedSince("empty")).toBe(9);
  });
});

describe("of a cluster", () => {
  it("that was never seen nothing is known, and its leaving is not kept", async () => {
    const { precedence, kept } = await open();
    await precedence.parted("west");
    expect([
      ...[precedence.adjusted("west"), precedence.importedSince("west"), precedence.rankedSince("west")],
      ...[precedence.isLost("west"), kept.has("exports@west")],
    ]).toEqual([undefined, undefined, 0, false, false]);
  });

  it("that is introduced there is a record from then on, unless there was one or the clock is not set", async () => {
    const { precedence, kept, see } = await open({ ...FOUNDED, "exports@east": record(NOW - HOUR) });
    for (const clusterId of ["west", "east"]) await precedence.introduce(clusterId, NOW);
    expect([...kept]).toEqual([["exports@west", { ...record(NOW), generation: 0 }]]);
    expect(see(cluster("west", { "shop/web": NOW }), NOW + 1)).toEqual(["shop/web"]);
    for (const [at, isKept] of [
      [FIRST_SERVICE_EXPORT - 1, false],
      [FIRST_SERVICE_EXPORT, true],
    ] as const) {
      const bare = await open(FOUNDED, [], at);
      await bare.precedence.introduce("west", at);
      expect(bare.kept.has("exports@west")).toBe(isKept);
    }
  });
});

describe("a start", () => {
  it("ranks what records lack in the order of the pushes", async () => {
    const held = (clusterId: string) => cluster(clusterId, {}, ["shop/db"]);
    const records = {
      ...FOUNDED,
      "exports@late": record(NOW - 9 * HOUR),
      "exports@early": record(NOW - 9 * HOUR),
    };
    const { since, kept } = await open(records, [
      stored(held("late"), 5, NOW - HOUR),
      stored(held("early"), 5, NOW - 2 * HOUR),
    ]);
    expect([since("early"), since("late")]).toEqual([
      { "shop/db": NOW - HOUR + 1 },
      { "shop/db": NOW - HOUR + 2 },
    ]);
    expect([...kept.keys()].sort()).toEqual(["exports@early", "exports@late"]);
  });

  it("takes what a newer push withdrew away, and judges what it brought as after an absence", async () => {
    const west = cluster("west", { "shop/api": NOW - 2 * MINUTE });
    const records = { ...FOUNDED, "exports@west": record(NOW - 2 * HOUR, { "shop/web": NOW - 9 * HOUR }) };
    const newer = await open(records, [stored(west, 7, NOW, NOW - 3 * HOUR)]);
    expect(newer.kept.get("exports@west")).toEqual({
      ...{ generation: 7, seenAt: NOW, imports: {} },
      exports: { "shop/api": [iso(NOW - 2 * MINUTE), NOW] },
    });
    const same = await open(records, [stored(west, 5, NOW, NOW - 3 * HOUR)]);
    expect(same.kept.get("exports@west")).toEqual({
      ...{ generation: 5, seenAt: NOW - 2 * HOUR, imports: {} },
      exports: {
        "shop/web": [iso(NOW - 9 * HOUR), NOW - 9 * HOUR],
        "shop/api": [iso(NOW - 2 * MINUTE), NOW],
      },
    });
  });

  it("never lets a newer push be seen before its record", async () => {
    const records = { ...FOUNDED, "exports@west": record(NOW - HOUR) };
    const { kept } = await open(records, [stored(cluster("west", {}, ["shop/db"]), 7, NOW - 2 * HOUR)]);
    expect(kept.get("exports@west")).toMatchObject({
      seenAt: NOW - HOUR,
      imports: { "shop/db": NOW - HOUR + 1 },
    });
  });

  it.each([
    [NOW - HOUR, NOW - 2 * HOUR],
    [NOW - 2 * HOUR, NOW - HOUR],
  ])("counts a cluster as seen when it was seen or renewed last: %d or %d", async (seenAt, renewedAt) => {
    const records = { ...FOUNDED, "exports@west": record(seenAt) };
    const { precedence, kept } = await open(records, [
      stored(cluster("west", {}), 5, NOW - 3 * HOUR, renewedAt),
    ]);
    await precedence.parted("west");
    expect(kept.get("exports@west")).toMatchObject({ seenAt: NOW - HOUR });
  });

  it("knows live clusters whose record is lost, and nothing of those that are not live", async () => {
    const dead = { ...stored(cluster("dead", {}, ["shop/db"]), 5, NOW - HOUR), live: false };
    const { precedence, events, since } = await open(FOUNDED, [
      ...[stored(cluster("lost", {}, ["shop/db"]), 5, NOW - HOUR), dead],
    ]);
    expect(["lost", "dead"].map((clusterId) => precedence.isLost(clusterId))).toEqual([true, false]);
    expect([since("lost"), precedence.importedSince("dead")]).toEqual([{ "shop/db": NOW - HOUR }, undefined]);
    expect(events).toEqual([{ event: "memory-lost", record: "exports@lost" }]);
  });
});
