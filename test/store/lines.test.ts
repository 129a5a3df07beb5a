import fc from "fast-check";
import { expect, test } from "vitest";
import { applyLines } from "../../src/snapshot/lines/apply-lines.ts";
import { heldSnapshot } from "../../src/snapshot/lines/held-state.ts";
import { linesOf, linesOfDelta } from "../../src/store/lines.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { shopSnapshot, snapshots } from "../snapshot/worlds.ts";
import { loadAll, metaOf, wholeOf } from "./changes.ts";

test("the lines of a change lead from any state to any other", async () => {
  await fc.assert(
    fc.asyncProperty(snapshots, snapshots, async (from, to) => {
      const held = heldSnapshot(from);
      const delta = applyLines(held, linesOf(diffSnapshots(from, to) ?? {}), "changes");
      const store = createMemoryStore();
      await store.keep("west", wholeOf(from, metaOf(1)));
      await store.keep("west", { kind: "patch", lines: linesOfDelta(delta, held), meta: metaOf(2) });
      expect((await loadAll(store)).west?.snapshot).toEqual(to);
    }),
  );
});

test("a large entry has several lines, each of at most 1,000 members, and a changed endpoint of it one short line", () => {
  const from = shopSnapshot("west", 5000);
  const whole = [...linesOf(from)].filter(([collection]) => collection === "exports");
  expect(whole.length).toBeGreaterThan(4);
  for (const line of whole)
    expect(JSON.stringify(line).match(/"address"/g)?.length ?? 0).toBeLessThanOrEqual(1000);
  const held = heldSnapshot(from);
  const change = { "http/TCP/8080": { members: { "10.0.0.9": { ready: false } } } };
  const delta = applyLines(held, [["exports", "shop/web", { endpoints: change }]], "changes");
  expect([...linesOfDelta(delta, held)]).toEqual([["exports", "shop/web", { endpoints: change }]]);
});
