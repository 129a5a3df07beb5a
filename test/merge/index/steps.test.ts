import { describe, expect, it } from "vitest";
import { ServiceIndex } from "../../../src/merge/index/service-index.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { type HeldDelta, packDelta, type SnapshotDelta } from "../../../src/snapshot/entry-changes.ts";
import { type HeldState, heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import type { LocalService } from "../../../src/snapshot/schema.ts";
import { exported, imported, snapshot } from "../fixtures.ts";

/** Three steps of 64 keys, and some. */
const KEYS = Array.from({ length: 200 }, (_, number) => `shop/s${number}`);
const of = <Value>(value: Value, keys = KEYS) => Object.fromEntries(keys.map((key) => [key, value]));
const west = snapshot("west", { exports: of(exported()) });
const stored: HeldState = { ...heldSnapshot(west), isStored: true };
const service: LocalService = {
  ...{ createdAt: "2026-01-01T00:00:00Z", serviceType: "ClusterIP", headless: false },
  ...{ ports: [], endpoints: {} },
};

function countSteps(steps: Generator<void>): number {
  let count = 0;
  for (const _ of steps) count++;
  return count;
}

function joined(state: HeldState = heldSnapshot(west)): ServiceIndex {
  const index = new ServiceIndex();
  drain(index.join("west", state));
  return index;
}

function change(entries: readonly object[]): HeldDelta {
  return drain(packDelta({ entries: entries as SnapshotDelta["entries"], singles: {} }));
}

const exportsChanged = change(KEYS.map((key) => ({ collection: "exports", key, entry: exported() })));

describe("a step of the index has 64 keys", () => {
  it.each<[string, number, () => Generator<void>]>([
    ["a cluster with 200 exports joins", 3, () => new ServiceIndex().join("west", heldSnapshot(west))],
    [
      "a cluster with 100 exports and 100 imports joins",
      3,
      () => {
        const [exports, imports] = [of(exported(), KEYS.slice(0, 100)), of(imported(), KEYS.slice(100))];
        return new ServiceIndex().join("west", heldSnapshot(snapshot("west", { exports, imports })));
      },
    ],
    [
      "a cluster with 200 Services and pods of its own zone joins",
      3,
      () => {
        const [services, pods] = [of(service, KEYS.slice(0, 100)), of({}, KEYS.slice(100))];
        return new ServiceIndex().join("west", heldSnapshot(snapshot("west", { services, pods })));
      },
    ],
    ["a cluster with 200 exports leaves", 3, () => joined().leave("west")],
    [
      "a cluster with a namespace of 200 services of others joins",
      3,
      () => joined().join("east", heldSnapshot(snapshot("east"))),
    ],
    ["200 exports change", 3, () => joined().change("west", exportsChanged)],
    [
      "200 pods change",
      3,
      () => joined().change("west", change(KEYS.map((key) => ({ collection: "pods", key, entry: {} })))),
    ],
    ["200 exports are retained", 3, () => joined(stored).retain("west", exportsChanged)],
    ["the rank of 200 exports changes", 3, () => joined().reconsider("west", KEYS)],
  ])("%s: %d steps", (_, steps, begin) => {
    expect(countSteps(begin())).toBe(steps);
  });

  it("nothing of a cluster that is not there takes a step", () => {
    const index = new ServiceIndex();
    const touched: string[] = [];
    index.watch({
      serviceChanged: (key) => touched.push(key),
      importersChanged: (key) => touched.push(key),
      clusterChanged: (clusterId) => touched.push(clusterId),
      localChanged: (clusterId) => touched.push(clusterId),
      findingChanged: (clusterId) => touched.push(clusterId),
    });
    for (const steps of [
      index.change("west", exportsChanged),
      index.retain("west", exportsChanged),
      index.reconsider("west", KEYS),
      index.leave("west"),
    ])
      expect(countSteps(steps)).toBe(0);
    index.release("west", exportsChanged);
    expect([touched, [...index.keys()]]).toEqual([[], []]);
  });

  it("what is in memory is not retained", () => {
    const index = joined();
    const before = index.contributions("shop/s1");
    expect(countSteps(index.retain("west", exportsChanged))).toBe(0);
    index.release("west", exportsChanged);
    expect(index.contributions("shop/s1")).toBe(before);
  });
});
