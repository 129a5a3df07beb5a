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
describe("the lines of a service", () => {
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
});

describe("the namespaces of a cluster", () => {
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
});
