import { expect, test } from "vitest";
import { diffJson, MergePatchError, mergePatch } from "../../src/snapshot/merge-patch.ts";
import { diffSnapshots } from "./diff-snapshots.ts";
import { shopSnapshot } from "./worlds.ts";

function errorOf(target: unknown, patch: unknown): MergePatchError {
  try {
    mergePatch(target, patch);
  } catch (error) {
    if (error instanceof MergePatchError) return error;
    throw error;
  }
  throw new Error("the patch was taken");
}

/** `{"a": {"a": … 1}}`, so many levels deep. */
function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

test("a patch of 17 levels is applied, and one of 18 is rejected at the first level too many", () => {
  expect(mergePatch({}, nested(17))).toEqual(nested(17));
  expect(errorOf({}, nested(18))).toMatchObject({
    code: "INVALID_MERGE_PATCH",
    message: "is nested too deeply",
    path: Array(17).fill("a"),
  });
});

test("a member __proto__ is rejected with its path", () => {
  expect(errorOf({}, JSON.parse('{"a":{"__proto__":1}}'))).toMatchObject({
    message: "is not a known field",
    path: ["a", "__proto__"],
  });
});

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

test("a diff to another cluster or to another format version throws, and the error says why", () => {
  const west = shopSnapshot("west");
  expect(() => diffSnapshots(west, { ...west, formatVersion: 2 as never })).toThrow(RangeError);
  expect(() => diffSnapshots(west, shopSnapshot("east"))).toThrow(
    'a patch cannot change the cluster id ("west" to "east") or the format version',
  );
});
