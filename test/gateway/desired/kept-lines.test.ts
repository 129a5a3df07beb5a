import { describe, expect, it } from "vitest";
import type { ServiceLine } from "../../../src/gateway/desired/desired-lines.ts";
import { KeptLines } from "../../../src/gateway/desired/kept-lines.ts";
import { NamespaceVersions } from "../../../src/gateway/desired/namespace-versions.ts";

const line = (text: string, to: Pick<ServiceLine, "only" | "except"> = {}): ServiceLine => ({
  ...{ text, none: `no ${text.split(" ")[0]}` },
  ...to,
});
const service = (lines: Record<string, ServiceLine>, exporters: readonly string[] = []) => ({
  lines: new Map(Object.entries(lines)),
  exporters,
});
const KEY = "shop/web";

describe("the lines of a service", () => {
  it("are sent to a cluster that has none of them, and to others those that changed after their version", () => {
    const kept = new KeptLines();
    const changes = (after: number, isNew = false) => [...kept.changes(KEY, "west", after, isNew)];
    expect(kept.take(KEY, service({ import: line("import 1"), slice: line("slice 1") }), 1)).toBe(true);
    expect(kept.take(KEY, service({ import: line("import 1"), slice: line("slice 2") }), 2)).toBe(true);
    expect(kept.take(KEY, service({ import: line("import 1"), slice: line("slice 2") }), 3)).toBe(false);
    expect(changes(0)).toEqual(["import 1", "slice 2"]);
    expect(changes(1)).toEqual(["slice 2"]);
    expect(changes(2)).toEqual([]);
    expect(changes(2, true)).toEqual(["import 1", "slice 2"]);
    expect([...kept.changes("shop/other", "west", 0, true)]).toEqual([]);
  });

  it("that are gone are taken back from those that may have them", () => {
    const kept = new KeptLines();
    kept.take(KEY, service({ import: line("import 1"), slice: line("slice 1") }), 1);
    expect(kept.take(KEY, service({ import: line("import 1") }), 2)).toBe(true);
    expect(kept.take(KEY, service({ import: line("import 1") }), 3)).toBe(false);
    expect([...kept.changes(KEY, "west", 1, false)]).toEqual(["no slice"]);
    expect([...kept.changes(KEY, "west", 1, true)]).toEqual(["import 1", "no slice"]);
    expect([...kept.changes(KEY, "west", 2, false)]).toEqual([]);
    kept.take(KEY, service({}), 4);
    expect([...kept.changes(KEY, "west", 3, false)]).toEqual(["no import"]);
    expect([...kept.withdrawals(KEY, "west")]).toEqual(["no import", "no slice"]);
    expect([...kept.keys()]).toEqual([KEY]);
    // The same text as before it was gone is news.
    expect(kept.take(KEY, service({ slice: line("slice 1") }), 5)).toBe(true);
    expect([...kept.changes(KEY, "west", 4, false)]).toEqual(["slice 1"]);
  });

  it("reach the only cluster that gets them, or all but one", () => {
    const kept = new KeptLines();
    const lines = { own: line("own", { only: "west" }), others: line("others", { except: "west" }) };
    kept.take(KEY, service(lines), 1);
    for (const [cluster, expected] of [
      ["west", "own"],
      ["east", "others"],
    ] as const) {
      expect([...kept.changes(KEY, cluster, 0, false)]).toEqual([expected]);
      expect([...kept.withdrawals(KEY, cluster)]).toEqual([`no ${expected}`]);
    }
  });

  it("that are gone are forgotten once there are too many, the oldest first", () => {
    const kept = new KeptLines(2);
    for (const [index, key] of ["a/1", "a/2", "a/3"].entries())
      kept.take(key, service({ x: line("x") }), index + 1);
    expect(kept.forgotten).toBe(0);
    kept.take("a/1", service({}), 11);
    kept.take("a/2", service({}), 12);
    expect([kept.forgotten, [...kept.keys()]]).toEqual([0, ["a/1", "a/2", "a/3"]]);
    kept.take("a/3", service({ y: line("y") }), 13);
    expect([kept.forgotten, [...kept.keys()]]).toEqual([11, ["a/2", "a/3"]]);
    expect([...kept.changes("a/3", "west", 12, false)].sort()).toEqual(["no x", "y"]);
    // One that is there again is not counted among them.
    kept.take("a/2", service({ x: line("x") }), 14);
    kept.take("a/4", service({ x: line("x") }), 15);
    kept.take("a/4", service({}), 16);
    expect(kept.forgotten).toBe(11);
  });

  it("stay as long as any is left: only the one that is gone is forgotten", () => {
    const kept = new KeptLines(0);
    kept.take("shop/empty", service({}), 1);
    expect([...kept.keys()]).toEqual([]);
    kept.take(KEY, service({ import: line("import 1"), slice: line("slice 1") }), 2);
    kept.take(KEY, service({ import: line("import 1") }), 3);
    expect([...kept.keys()]).toEqual([KEY]);
    expect([...kept.withdrawals(KEY, "west")]).toEqual(["no import"]);
    kept.take(KEY, service({}), 4);
    expect([[...kept.keys()], kept.forgotten]).toEqual([[], 4]);
  });

  it("say which clusters export a service", () => {
    const kept = new KeptLines();
    kept.take(KEY, service({ x: line("x") }, ["west"]), 1);
    expect(kept.take(KEY, service({ x: line("x") }, ["east"]), 2)).toBe(false);
    expect([...kept.exporters.within(new Set(["shop"]))]).toEqual([]);
    kept.settle();
    expect([...kept.exporters.within(new Set(["shop"]))]).toEqual(["east"]);
  });
});

describe("the namespaces of a cluster", () => {
  it("have the version since which it has them, or has them no more", () => {
    const versions = new NamespaceVersions(3);
    expect([versions.forgotten, versions.has("shop"), versions.hasChanged("shop", 0)]).toEqual([
      3,
      false,
      false,
    ]);
    expect(versions.take(new Set(["shop", "ops"]), 4)).toEqual(["shop", "ops"]);
    expect(versions.take(new Set(["shop", "ops"]), 5)).toEqual([]);
    expect([versions.has("shop"), versions.hasChanged("shop", 3), versions.hasChanged("shop", 4)]).toEqual([
      ...[true, true, false],
    ]);
    expect(versions.take(new Set(["ops", "new"]), 6)).toEqual(["new", "shop"]);
    expect([versions.has("shop"), versions.hasChanged("shop", 5), versions.has("new")]).toEqual([
      ...[false, true, true],
    ]);
    expect(versions.hasChanged("ops", 4)).toBe(false);
    expect(versions.take(new Set(["ops", "new"]), 7)).toEqual([]);
  });

  it("that are gone are forgotten once there are too many, the oldest first", () => {
    const versions = new NamespaceVersions(0, 1);
    versions.take(new Set(["a", "b", "c"]), 1);
    versions.take(new Set(["b", "c"]), 2);
    expect(versions.forgotten).toBe(0);
    versions.take(new Set(["c"]), 3);
    expect(versions.forgotten).toBe(2);
    expect([versions.hasChanged("a", 0), versions.hasChanged("b", 2)]).toEqual([false, true]);
    versions.take(new Set(["a"]), 4);
    expect([versions.forgotten, versions.has("a"), versions.hasChanged("c", 3)]).toEqual([3, true, true]);
  });

  it("that came and went again are as old as when they went last", () => {
    const versions = new NamespaceVersions(0, 1);
    for (const [index, names] of [["a", "b"], ["b"], ["a", "b"], ["a"]].entries())
      versions.take(new Set(names), index + 1);
    versions.take(new Set(), 5);
    expect(versions.forgotten).toBe(4);
    expect([versions.hasChanged("a", 4), versions.hasChanged("b", 0)]).toEqual([true, false]);
  });
});
