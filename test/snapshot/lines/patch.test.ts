import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/snapshot/json-value.ts";
import { diffJson, mergePatch } from "../../../src/snapshot/json-value.ts";
import type { SnapshotPatch } from "../../../src/snapshot/lines/patch-line.ts";
import { SnapshotError } from "../../../src/snapshot/parse.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { metaAt, NOON, patchLines, prepare, stage } from "../../database/pushing.ts";
import { applyPatch, holding, readLines } from "../changes.ts";
import { diffSnapshots } from "../diff-snapshots.ts";
import { shopSnapshot, snapshots } from "../worlds.ts";

function issuesOf(base: ClusterSnapshot, patch: SnapshotPatch) {
  try {
    applyPatch(base, patch);
  } catch (error) {
    if (error instanceof SnapshotError) return error.issues;
    throw error;
  }
  throw new Error("the patch was taken");
}

function member(address: string, change: unknown): SnapshotPatch {
  return { exports: { "shop/web": { endpoints: { "http/TCP/8080": { members: { [address]: change } } } } } };
}

describe("a patch between two snapshots", () => {
  test("has no member that could be left out", () => {
    fc.assert(
      fc.property(snapshots, snapshots, (from, to) => {
        const patch = diffSnapshots(from, to) ?? {};
        for (const path of leaves(patch)) {
          const less = structuredClone(patch) as Record<string, unknown>;
          removeAt(less, path);
          let patched: unknown;
          try {
            patched = applyPatch(from, less);
          } catch (error) {
            expect(error).toBeInstanceOf(SnapshotError);
            continue;
          }
          expect(patched).not.toEqual(to);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe("a patch, as the lines of a push", () => {
  test("that changes nothing has no changes", () => {
    const { database, writer } = holding(shopSnapshot("west"));
    for (const patch of [{}, member("10.0.0.1", { ready: true }), { exports: { "shop/gone": null } }]) {
      const staged = stage(writer.reader, "west", "changes", patchLines("west", patch));
      expect(prepare(writer, staged, metaAt(NOON), { now: NOON, live: true }).entries).toEqual([]);
    }
    database.close();
  });
  test.each([
    '{"exports":{"__proto__":{"polluted":1}}}',
    '{"exports":{"shop/web":{"__proto__":{"polluted":1}}}}',
    '{"exports":{"shop/web":{"endpoints":{"http/TCP/8080":{"members":{"__proto__":{"address":"10.9.9.9"}}}}}}}',
    '{"exports":{"shop/web":{"constructor":{"prototype":{"polluted":1}}}}}',
    '{"topology":{"__proto__":{"region":"x"}}}',
  ])("rejects the hostile patch %s and changes no prototype", (text) => {
    const base = shopSnapshot("west");
    expect(issuesOf(base, JSON.parse(text)).length).toBeGreaterThan(0);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(base.exports)).toBe(Object.prototype);
  });
  test("rejects deep nesting instead of overflowing the stack", () => {
    let deep: unknown = {};
    for (let level = 0; level < 100_000; level++) deep = { a: deep };
    const { database, writer } = holding(shopSnapshot("west"));
    const [line] = readLines([["exports", "shop/web", {}]]);
    const deepLine = { ...line!, change: ["exports", "shop/web", deep as JsonObject] } as const;
    expect(() => stage(writer.reader, "west", "changes", [deepLine])).toThrow(
      /exports\["shop\/web"\]\.a: is not a known field/,
    );
    database.close();
  });
});

function leaves(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [path];
  const names = Object.entries(value);
  return names.length === 0 && path.length > 0
    ? [path]
    : names.flatMap(([name, below]) => leaves(below, [...path, name]));
}

function removeAt(value: Record<string, unknown>, path: readonly string[]): void {
  let target = value;
  for (const step of path.slice(0, -1)) target = target[step] as Record<string, unknown>;
  delete target[path.at(-1)!];
}

// RFC 7396 appendix A, where it concerns members like a snapshot's.
test.each([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, "bar", "bar"],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])("%j with %j becomes %j", (target, patch, expected) => {
  const before = structuredClone(target);
  expect(mergePatch(target, patch)).toEqual(expected);
  expect(target).toEqual(before);
});

test("undefined members neither remove nor write anything", () => {
  expect(diffJson({ a: undefined, b: 1 }, { b: 1 })).toBeUndefined();
  expect(diffJson({ b: 1 }, { a: undefined, b: 1 })).toBeUndefined();
  expect(diffJson({ a: 1 }, { a: undefined })).toStrictEqual({ a: null });
  expect(diffJson({ a: { b: 1 } }, { a: { b: 1 } })).toBeUndefined();
});
