import fc from "fast-check";
import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import { applyPatch, linesOf } from "../snapshot/changes.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { shopSnapshot, snapshots } from "../snapshot/worlds.ts";
import { loadAll, metaOf, wholeOf } from "./changes.ts";

test("the lines of a change lead from any state to any other", async () => {
  await fc.assert(
    fc.asyncProperty(snapshots, snapshots, async (from, to) => {
      const store = createMemoryStore();
      await store.keep("west", wholeOf(from, metaOf(1)));
      await store.keep("west", {
        kind: "patch",
        lines: linesOf(diffSnapshots(from, to) ?? {}),
        meta: metaOf(2),
      });
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
  const change = { endpoints: { "http/TCP/8080": { members: { "10.0.0.9": { ready: false } } } } };
  const to = applyPatch(from, { exports: { "shop/web": change } });
  expect([...linesOf(diffSnapshots(from, to)!)]).toEqual([["exports", "shop/web", change]]);
});
