import { expect, test } from "vitest";
import { countDelta, countRemoval } from "../../src/snapshot/changes.ts";
import { drain } from "../../src/snapshot/drain.ts";
import type { EntryChange } from "../../src/snapshot/entry-changes.ts";
import { heldSnapshot } from "../../src/snapshot/lines/held-state.ts";
import { parseInSteps } from "../../src/snapshot/parse.ts";
import type { SnapshotError } from "../../src/snapshot/snapshot-error.ts";
import { emptySnapshot, headlessExport, shopSnapshot } from "./worlds.ts";

const held = heldSnapshot(shopSnapshot("west"));

test("changes are counted by table: those that are new, other than before, and gone", () => {
  const entries: EntryChange[] = [
    { collection: "exports", key: "shop/web", entry: headlessExport(1) },
    { collection: "exports", key: "shop/db", entry: headlessExport(1) },
    { collection: "exports", key: "shop/cache", entry: headlessExport(1) },
    { collection: "namespaces", key: "shop", entry: undefined },
    { collection: "namespaces", key: "toString", entry: {} },
  ];
  expect(drain(countDelta(held, { entries, singles: {} }))).toEqual({
    exports: { added: 2, changed: 1, removed: 0 },
    namespaces: { added: 1, changed: 0, removed: 1 },
  });
  expect(drain(countDelta(held, { entries: [], singles: { topology: undefined } }))).toEqual({});
});

test.each([
  [255, 0],
  [256, 1],
  [600, 2],
])("%i changes are counted in %i steps before the last", (count, steps) => {
  const entries = Array.from({ length: count }, (_, index): EntryChange => {
    return { collection: "namespaces", key: `n${index}`, entry: {} };
  });
  expect([...countDelta(held, { entries, singles: {} })]).toHaveLength(steps);
});

test("the removal of all of a state has every table that is not empty", () => {
  const counts = { namespaces: 2, exports: 1, imports: 0, services: 0, pods: 3, findings: 0 };
  expect(countRemoval(counts)).toEqual({
    namespaces: { added: 0, changed: 0, removed: 2 },
    exports: { added: 0, changed: 0, removed: 1 },
    pods: { added: 0, changed: 0, removed: 3 },
  });
});

test.each([
  [63, 0],
  [64, 1],
  [200, 3],
])("a snapshot of %i entries is parsed in %i steps before the last", (count, steps) => {
  const names = Array.from({ length: count }, (_, index) => [`n${index}`, {}]);
  const snapshot = { ...emptySnapshot("west"), namespaces: Object.fromEntries(names) };
  expect([...parseInSteps(snapshot)]).toHaveLength(steps);
});

test("a snapshot with a thousand errors is parsed no further", () => {
  const entries = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, {}]));
  const total = (pods: number, imports: number) => {
    try {
      drain(parseInSteps({ ...emptySnapshot("west"), imports: entries(imports), pods: entries(pods) }));
    } catch (error) {
      return (error as SnapshotError).total;
    }
    return 0;
  };
  // A key without a slash is one error, and an import without its fields has three more.
  expect([total(999, 0), total(1000, 0), total(2000, 0), total(0, 2000)]).toEqual([999, 1000, 1000, 1000]);
});
