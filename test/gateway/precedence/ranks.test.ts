import fc from "fast-check";
import { expect, test } from "vitest";
import { Ranks } from "../../../src/gateway/remembered/ranks.ts";

const FROM = Date.UTC(2015, 0, 1);
const UNTIL = Date.UTC(2060, 0, 1);
/** Times in whole seconds and between them, before the first ServiceExport and after the numbers of seconds that are held. */
const instants = fc.oneof(
  fc.integer({ min: FROM / 1000, max: UNTIL / 1000 }).map((seconds) => seconds * 1000),
  fc.integer({ min: FROM, max: UNTIL }),
);
const forms: readonly ((at: number) => string)[] = [
  (at) => new Date(at).toISOString().replace(/\.\d+Z$/, "Z"),
  (at) => new Date(at).toISOString(),
  (at) => new Date(at).toISOString().replace(/\.\d+Z$/, "+00:00"),
  () => "no time at all",
];

test("a rank is what was set, whatever its reported time is and from when it counts", () => {
  fc.assert(
    fc.property(instants, instants, fc.boolean(), fc.constantFrom(...forms), (at, other, isPlain, form) => {
      const rank = { reported: form(at), counts: isPlain ? Math.floor(at / 1000) * 1000 : other };
      const ranks = new Ranks();
      ranks.set("shop/web", rank);
      expect(ranks.get("shop/web")).toEqual(rank);
      expect([...ranks]).toEqual([["shop/web", rank]]);
    }),
  );
});

test("a rank that is deleted is gone, and the others stay", () => {
  const ranks = new Ranks();
  ranks.set("shop/web", { reported: "2025-01-01T00:00:00Z", counts: Date.UTC(2025, 0, 1) });
  ranks.set("shop/api", { reported: "2025-01-01T00:00:00Z", counts: Date.UTC(2025, 0, 2) });
  ranks.delete("shop/web");
  expect([ranks.size, ranks.has("shop/web"), [...ranks.keys()]]).toEqual([1, false, ["shop/api"]]);
  expect(ranks.get("shop/api")).toEqual({ reported: "2025-01-01T00:00:00Z", counts: Date.UTC(2025, 0, 2) });
});
