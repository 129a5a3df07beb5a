import { describe, expect, it } from "vitest";
import { RecentChanges } from "../../../src/gateway/desired.ts";
import type { ServiceLine, ServiceLines } from "../../../src/gateway/desired-lines.ts";
import { KeptLines } from "../../../src/gateway/desired-lines.ts";

const lines = (texts: Record<string, string>, ...readers: string[]): ServiceLines =>
  new Map(
    Object.entries(texts).map(([name, text]): [string, ServiceLine] => [
      name,
      { text, readers: new Set(["west", ...readers]) },
    ]),
  );
const NONE = lines({});

describe("the lines of a service", () => {
  it("that are gone are forgotten once there are too many, the oldest first", () => {
    const kept = new KeptLines(2);
    for (const [index, key] of ["a/1", "a/2", "a/3"].entries())
      kept.take(key, lines({ import: "x" }), index + 1);
    expect(kept.forgotten).toBe(0);
    kept.take("a/1", NONE, 11);
    kept.take("a/2", NONE, 12);
    expect([kept.forgotten, [...kept.keysIn("a")]]).toEqual([0, ["a/1", "a/2", "a/3"]]);
    const other = lines({ "export west": "y" });
    kept.take("a/3", other, 13);
    expect([kept.forgotten, [...kept.keysIn("a")]]).toEqual([11, ["a/2", "a/3"]]);
    expect([...kept.changes("a/3", other, "west", 12, false)].sort()).toEqual([
      "y",
      `${JSON.stringify({ import: "a/3", desired: null })}\n`,
    ]);
    // One that is there again is not counted among them.
    kept.take("a/2", lines({ import: "x" }), 14);
    kept.take("a/4", lines({ import: "x" }), 15);
    kept.take("a/4", NONE, 16);
    expect(kept.forgotten).toBe(11);
  });
});

it("recent changes are those of the things that changed last", () => {
  const changes = new RecentChanges(2);
  changes.note("a", 1);
  changes.note("b", 2);
  changes.note("a", 3);
  expect([[...changes.since(0)], changes.forgotten]).toEqual([["b", "a"], 0]);
  changes.note("c", 4);
  expect([[...changes.since(0)], changes.forgotten]).toEqual([["a", "c"], 2]);
  expect([changes.hasChanged("a", 2), changes.hasChanged("a", 3), changes.hasChanged("b", 0)]).toEqual([
    true,
    false,
    false,
  ]);
});
