import { describe, expect, it } from "vitest";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import { FOUNDING_RECORD, Founding } from "../../../src/gateway/remembered/founding.ts";
import { CLOCK_TOLERANCE, FIRST_SERVICE_EXPORT } from "../../../src/gateway/remembered/judge.ts";
import { complete, readRecords } from "../../../src/gateway/remembered/recover.ts";
import { SeenCluster } from "../../../src/gateway/remembered/seen-cluster.ts";
import { Sights } from "../../../src/gateway/remembered/sights.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import type { RememberedStore } from "../../../src/store/remembered/remembered-store.ts";
import { exported, imported, snapshot } from "../../merge/fixtures.ts";

const NOW = Date.UTC(2026, 5, 10);
const HOUR = 3_600_000;
const iso = (time: number) => new Date(time).toISOString();

/** What a gateway remembers of nothing yet, in a memory that can be read. */
function open() {
  const kept = new Map<string, unknown>();
  const events: GatewayEvent[] = [];
  const store = { keep: async (name: string, value: unknown) => void kept.set(name, value) };
  const turns = { run: async <Result>(steps: Generator<void, Result>) => drain(steps) };
  const sights = new Sights(store as unknown as RememberedStore, turns, (event) => void events.push(event));
  return { sights, kept, events };
}

const stored = (held: ClusterSnapshot, at: number, live = true) => ({
  ...{ clusterId: held.clusterId, state: heldSnapshot(held), live },
  meta: { generation: 7, pushedAt: at, renewedAt: at, expiresAt: at + HOUR },
});
const records = (values: Record<string, unknown> = {}, damage: readonly object[] = []) => ({
  values: new Map(Object.entries(values)),
  damage: damage as never,
});
const seen = (at: number, exports: Record<string, number> = {}, imports: Record<string, number> = {}) =>
  new SeenCluster({
    ...{ generation: 5, seenAt: at, imports: new Map(Object.entries(imports)) },
    exports: new Map(
      Object.entries(exports).map(([key, counts]) => [key, { reported: iso(counts), counts }]),
    ),
  });

describe("a record", () => {
  it("of a cluster is taken over with its times, and one that is damaged is none", () => {
    const { sights } = open();
    const values = { "exports@west": seen(NOW - 5), "exports@east": undefined, "other@north": seen(NOW) };
    readRecords(sights, { records: records(values), stored: [], now: NOW });
    expect(["west", "east", "north"].map((id) => sights.get(id) !== undefined)).toEqual([true, false, false]);
    expect(sights.instant(NOW - 10)).toBe(NOW - 4);
  });
});

describe("the first day", () => {
  const founded = (at: number, over = false) => ({ at, over });

  it("begins where nothing is remembered, stored or damaged", () => {
    const { sights, events } = open();
    readRecords(sights, { records: records(), stored: [], now: NOW });
    expect([sights.founding.isOn, sights.founding.at, events]).toEqual([true, NOW, []]);
  });

  it.each([
    ["a cluster is remembered", records({ "exports@west": seen(NOW - HOUR) }), []],
    ["a cluster is stored", records(), [stored(snapshot("west"), NOW - HOUR)]],
    ["a record was damaged", records({}, [{}]), []],
  ])("has ended where its record is lost and %s", async (_, given, clusters) => {
    const { sights, events, kept } = open();
    readRecords(sights, { records: given, stored: clusters, now: NOW });
    expect(sights.founding.isOn).toBe(false);
    expect(events).toEqual([{ event: "memory-lost", record: FOUNDING_RECORD }]);
    await sights.keepAll();
    expect(kept.get(FOUNDING_RECORD)).toEqual({ at: 0, over: true });
  });

  it("goes on as it was kept, and is not kept again", async () => {
    const { sights, events, kept } = open();
    const values = { [FOUNDING_RECORD]: founded(NOW - HOUR), "exports@west": seen(NOW - HOUR) };
    readRecords(sights, { records: records(values), stored: [], now: NOW });
    expect([sights.founding.isOn, sights.founding.at, events]).toEqual([true, NOW - HOUR, []]);
    await sights.keepAll();
    expect(kept.size).toBe(0);
  });

  it("ends where the clock is before it and anything is remembered, and begins anew where nothing is", () => {
    const later = NOW + CLOCK_TOLERANCE + 1;
    const values = { [FOUNDING_RECORD]: founded(later) };
    const event = { event: "founding-void", at: later, now: NOW };
    const bare = open();
    readRecords(bare.sights, { records: records(values), stored: [], now: NOW });
    expect([bare.sights.founding.isOn, bare.sights.founding.at]).toEqual([true, NOW]);
    expect(bare.events).toEqual([event]);
    const { sights, events } = open();
    readRecords(sights, {
      ...{ records: records({ ...values, "exports@west": seen(NOW - HOUR) }), stored: [], now: NOW },
    });
    expect([sights.founding.isOn, events]).toEqual([false, [event]]);
  });

  it("that has ended never contradicts the clock", () => {
    const over = Founding.read(founded(NOW + HOUR, true))!;
    expect([over.contradicts(NOW), over.isOn, over.pass(NOW, 0)]).toEqual([false, false, false]);
    expect(Founding.read({ at: "never", over: true })).toBeUndefined();
  });
});

describe("a stored cluster", () => {
  const west = snapshot("west", {
    namespaces: { shop: {} },
    exports: {
      "shop/web": exported({ exportedAt: iso(NOW - 9 * HOUR) }),
      "gone/web": exported(),
    },
    imports: { "shop/db": imported(), "shop/own": imported({ managed: true }), "gone/db": imported() },
  });
  const ranksOf = (cluster: SeenCluster | undefined) =>
    cluster && [
      [...cluster.exports].map(([key, { counts }]) => [key, counts]),
      [...cluster.imports],
      [cluster.generation, cluster.seenAt],
    ];

  it("was there first, with its reported times, where its record is lost", async () => {
    const { sights, events, kept } = open();
    complete(sights, stored(west, NOW));
    expect(ranksOf(sights.get("west"))).toEqual([
      [["shop/web", NOW - 9 * HOUR]],
      [["shop/db", NOW]],
      [7, NOW],
    ]);
    expect(events).toEqual([{ event: "memory-lost", record: "exports@west" }]);
    await sights.keepAll();
    expect([...kept.keys()]).toContain("exports@west");
  });

  it("is not remembered where its record is lost and its lease expired, or its push had no plausible time", () => {
    const { sights, events } = open();
    complete(sights, stored(west, NOW, false));
    complete(sights, stored(west, FIRST_SERVICE_EXPORT - 1));
    expect([sights.get("west"), events]).toEqual([undefined, []]);
    complete(sights, stored(west, FIRST_SERVICE_EXPORT));
    expect(sights.get("west")).toBeDefined();
  });

  it("has what its record lacks from now on, and keeps the rest of the record", () => {
    const { sights, events } = open();
    sights.load("west", seen(NOW, { "shop/api": NOW - HOUR }, { "shop/log": NOW - HOUR }));
    complete(sights, stored(west, NOW - HOUR));
    expect(ranksOf(sights.get("west"))).toEqual([
      [
        ["shop/api", NOW - HOUR],
        ["shop/web", NOW + 1],
      ],
      [
        ["shop/log", NOW - HOUR],
        ["shop/db", NOW + 1],
      ],
      [5, NOW],
    ]);
    expect(events).toEqual([]);
    expect(sights.instant(NOW)).toBe(NOW + 2);
  });

  it.each([
    ["export", { "shop/db": NOW - HOUR }],
    ["import", { "shop/web": NOW - HOUR }],
  ])("that has one %s more than its record has it from now on", (kind, there) => {
    const { sights } = open();
    const known = kind === "import" ? seen(NOW, there) : seen(NOW, {}, there);
    sights.load("west", known);
    complete(sights, stored(west, NOW));
    const cluster = sights.get("west")!;
    expect([cluster.exports.has("shop/web"), cluster.imports.has("shop/db")]).toEqual([true, true]);
    expect(kind === "import" ? cluster.imports.get("shop/db") : cluster.exports.get("shop/web")?.counts).toBe(
      NOW + 1,
    );
  });
});
