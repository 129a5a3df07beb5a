import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { CLOCK_TOLERANCE, FOUNDING, Precedence } from "../../src/gateway/precedence.ts";
import { createMerger } from "../../src/merge/merge.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { createMemoryPrecedenceStore, type PrecedenceStore } from "../../src/store/precedence-store.ts";
import { exported, snapshot } from "../merge/fixtures.ts";

const BEGAN = Date.parse("2026-06-01T00:00:00Z");
const LATER = BEGAN + 30 * FOUNDING;
const HOUR = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

let store: PrecedenceStore;
let precedence: Precedence;
beforeEach(async () => {
  store = createMemoryPrecedenceStore();
  precedence = await Precedence.open(store, BEGAN);
});

/** A cluster that exports `shop/web`, created at that time by its own account. */
const exporting = (clusterId: string, created: number | string): ClusterSnapshot =>
  snapshot(clusterId, {
    exports: { "shop/web": exported({ exportedAt: typeof created === "number" ? iso(created) : created }) },
  });
const counted = (clusterId: string) => precedence.setBack(clusterId)?.get("shop/web");

describe("the creation time that a cluster tells of an export (SECURITY.md, Creation times)", () => {
  it.each<[string, string, string | undefined]>([
    ["as it is, however old, while the gateway is new", "2021-03-01T00:00:00Z", undefined],
    ["not before 2020, when there was no ServiceExport", "1970-01-01T00:00:00Z", "impossible"],
    ["not a moment before", "2019-12-31T23:59:59Z", "impossible"],
    ["from 2020 on", "2020-01-01T00:00:00Z", undefined],
    ["a little ahead", iso(BEGAN + CLOCK_TOLERANCE), undefined],
    ["not in the future", iso(BEGAN + CLOCK_TOLERANCE + 1000), "future"],
    ["not at the end of time", "9999-12-31T23:59:59Z", "future"],
  ])("is believed %s", async (_, told, because) => {
    await precedence.look(exporting("a", told), BEGAN);
    expect(counted("a")).toEqual(because === undefined ? undefined : { counts: BEGAN, because });
  });

  it("is believed on the gateway's first day even where the cluster was heard without the export", async () => {
    await precedence.look(snapshot("a"), BEGAN);
    await precedence.look(exporting("a", "2021-03-01T00:00:00Z"), BEGAN + HOUR);
    expect(counted("a")).toBeUndefined();
  });

  it("is not believed where the cluster was heard without the export after that", async () => {
    await precedence.look(snapshot("a"), BEGAN);
    precedence.heard("a", LATER);
    await precedence.look(exporting("a", "2021-03-01T00:00:00Z"), LATER + HOUR);
    expect(counted("a")).toEqual({ counts: LATER + HOUR, because: "unheard" });
    await precedence.look(exporting("a", LATER + HOUR), LATER + 2 * HOUR);
    expect(counted("a")).toBeUndefined();
  });

  it("is believed for an export that was made since the cluster was heard", async () => {
    await precedence.look(snapshot("a"), BEGAN);
    await precedence.look(exporting("a", BEGAN + HOUR), LATER);
    expect(counted("a")).toBeUndefined();
  });

  it("is not believed of a cluster that comes long after the gateway began", async () => {
    await precedence.look(exporting("a", "2021-03-01T00:00:00Z"), BEGAN + FOUNDING);
    await precedence.look(exporting("b", "2021-03-01T00:00:00Z"), BEGAN + FOUNDING + 1);
    expect([counted("a"), counted("b")?.because]).toEqual([undefined, "unheard"]);
  });

  it("never moves into the past, by no way of leaving and coming back", async () => {
    await precedence.look(exporting("a", BEGAN - HOUR), BEGAN);
    for (const between of [exporting("a", BEGAN - HOUR), snapshot("a")]) {
      await precedence.look(between, BEGAN + HOUR);
      await precedence.parted("a");
      precedence = await Precedence.open(store, LATER);
      await precedence.look(exporting("a", "2020-01-01T00:00:00Z"), LATER);
      expect(counted("a")).toEqual({ counts: BEGAN - HOUR, because: "unheard" });
    }
  });

  it("is remembered for a cluster that comes back as it was: an outage costs no precedence", async () => {
    const west = exporting("west", "2021-03-01T00:00:00Z");
    await precedence.look(west, BEGAN);
    await precedence.parted("west");
    precedence = await Precedence.open(store, LATER);
    await precedence.look(west, LATER);
    expect(counted("west")).toBeUndefined();
  });

  it("counts again where the gateway lost its memory: clusters that come within a day are compared by what they tell", async () => {
    precedence = await Precedence.open(createMemoryPrecedenceStore(), LATER);
    await precedence.look(exporting("a", "2024-03-01T00:00:00Z"), LATER);
    await precedence.look(exporting("b", "2021-03-01T00:00:00Z"), LATER + HOUR);
    expect([counted("a"), counted("b")]).toEqual([undefined, undefined]);
  });

  it("is set back where what was remembered is damaged, and by a clock that is not set nothing is judged", async () => {
    await precedence.look(exporting("a", "2021-03-01T00:00:00Z"), BEGAN);
    await store.keep("a", '{"heardAt": 1, "exports": ');
    precedence = await Precedence.open(store, LATER);
    await precedence.look(exporting("b", BEGAN), 1000);
    expect(precedence.knows("b")).toBe(false);
    await precedence.look(exporting("a", "2021-03-01T00:00:00Z"), LATER);
    expect(counted("a")?.because).toBe("unheard");
  });

  it("whatever is told in whatever order later on, an instant that counts never moves back, and is never before 2020 or ahead", async () => {
    const told = fc.oneof(
      fc.constantFrom("1970-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
      fc.integer({ min: BEGAN - 10 * HOUR, max: BEGAN + FOUNDING + 60 * HOUR }).map(iso),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.option(told), fc.integer({ min: 0, max: 5 * HOUR }))),
        async (steps) => {
          const own = createMemoryPrecedenceStore();
          let memory = await Precedence.open(own, BEGAN);
          let now = BEGAN + FOUNDING + 1;
          let last = Number.NEGATIVE_INFINITY;
          for (const [index, [claim, passes]] of steps.entries()) {
            now += passes;
            await memory.look(claim === null ? snapshot("a") : exporting("a", claim), now);
            if (index % 3 === 2) {
              await memory.parted("a");
              memory = await Precedence.open(own, now);
            }
            if (claim === null) continue;
            const counts = memory.setBack("a")?.get("shop/web")?.counts ?? Date.parse(claim);
            expect(counts).toBeGreaterThanOrEqual(Math.max(last, Date.UTC(2020, 0, 1)));
            expect(counts).toBeLessThanOrEqual(now + CLOCK_TOLERANCE);
            last = counts;
          }
        },
      ),
    );
  });
});

describe("an export whose creation time does not count", () => {
  const merged = (world: ClusterSnapshot[]) => createMerger()(world, precedence);

  it("comes after those that were there, with a finding", async () => {
    const old = exporting("z", "2024-03-01T00:00:00Z");
    await precedence.look(old, BEGAN);
    const forged = exporting("a", "2020-01-02T00:00:00Z");
    await precedence.look(forged, LATER);
    const { services, findings } = merged([old, forged]);
    expect(services[0]!.exporters).toEqual(["z", "a"]);
    expect(findings).toEqual([
      expect.objectContaining({
        clusterId: "a",
        reason: "ImplausibleTimestamp",
        message: expect.stringContaining(`it counts from ${iso(LATER)}`),
      }),
    ]);
  });

  it("is a finding on its own only where it cannot be", async () => {
    for (const [told, count] of [
      ["2021-03-01T00:00:00Z", 0],
      ["1970-01-01T00:00:00Z", 1],
      ["2999-01-01T00:00:00Z", 1],
    ] as const) {
      const world = exporting(`c-${count}-${told.slice(0, 4)}`, told);
      await precedence.look(world, LATER);
      expect(merged([world]).findings).toHaveLength(count);
    }
  });
});
