import { describe, expect, test } from "vitest";
import { isClusterId } from "../../src/snapshot/cluster-id.ts";
import type { SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import { parseInSteps, parseSnapshot } from "../../src/snapshot/parse.ts";
import { formatPath, SnapshotError } from "../../src/snapshot/snapshot-error.ts";
import { applyPatch } from "./changes.ts";
import { emptySnapshot, shopSnapshot } from "./worlds.ts";

function errorOf(run: () => unknown): SnapshotError {
  try {
    run();
  } catch (error) {
    if (error instanceof SnapshotError) return error;
    throw error;
  }
  throw new Error("nothing was wrong");
}
const parseError = (value: unknown) => errorOf(() => parseSnapshot(value));
const patchError = (patch: SnapshotPatch) => errorOf(() => applyPatch(shopSnapshot("west"), patch));
const issue = (path: string, message = "is wrong") => ({ path, message });

describe("the message", () => {
  test("lists the issues, and counts the others", () => {
    expect(new SnapshotError([issue("a")]).message).toBe("a: is wrong");
    expect(new SnapshotError([issue("a"), issue("b", "is odd")]).message).toBe("a: is wrong; b: is odd");
    const many = Array.from({ length: 21 }, () => issue("a"));
    expect(new SnapshotError(many.slice(1)).message).toMatch(/^(?:a: is wrong; ){19}a: is wrong$/);
    expect(new SnapshotError(many).message).toMatch(/; and 1 more$/);
  });

  test("names the whole value if the issue has no field", () => {
    expect(parseError(null).message).toMatch(/^the whole value: /);
    expect(parseError([1]).issues[0]?.path).toBe("");
  });
});

test.each<[readonly (string | number)[], string]>([
  [[], ""],
  [["exports"], "exports"],
  [["exports", "shop/web", "ports", 0, "port"], 'exports["shop/web"].ports[0].port'],
  [["$a_1", "b"], "$a_1.b"],
  [["1a"], '["1a"]'],
  [["a b", "c"], '["a b"].c'],
  [["x".repeat(301)], "x".repeat(301)],
  [[`${"-".repeat(299)}ab`], `["${"-".repeat(299)}a"]`],
])("the path %j is written as the JavaScript expression %s", (path, text) => {
  expect(formatPath(path)).toBe(text);
});

describe("issues", () => {
  test("of a nested key describe a valid key", () => {
    const world = structuredClone(shopSnapshot("west")) as never as {
      exports: Record<string, { endpoints: Record<string, { members: object }> }>;
    };
    world.exports["shop/web"]!.endpoints["http/TCP/8080"]!.members = { "a b": { address: "10.0.0.1" } };
    expect(parseError(world).issues).toEqual([
      issue(
        'exports["shop/web"].endpoints["http/TCP/8080"].members["a b"]',
        "is not a valid key: must be an endpoint key",
      ),
    ]);
  });

  test("of one value are counted up to 1,000", () => {
    const ports = Array.from({ length: 900 }, () => ({ name: 1, protocol: 1, port: 80 }));
    const web = { ...shopSnapshot("west").exports["shop/web"]!, ports };
    expect(parseError({ ...shopSnapshot("west"), exports: { "shop/web": web } }).total).toBe(1000);
    const unknown = Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`field${index}`, 1]));
    expect(parseError({ ...shopSnapshot("west"), ...unknown }).total).toBe(1000);
  });

  const broken = Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`shop/s${index}`, 5]));

  const brokenFields = Object.fromEntries(Object.keys(broken).map((key) => [key, { headless: 5 }]));

  test("of entries stop parsing at 1,000, in snapshots and in patches", () => {
    expect(parseError({ ...shopSnapshot("west"), exports: broken }).total).toBe(1000);
    expect(patchError({ exports: brokenFields }).total).toBe(1000);
  });

  test.each<[string, SnapshotPatch, string]>([
    ['{"topology":{"__proto__":{}}}', JSON.parse('{"topology":{"__proto__":{}}}'), "topology.__proto__"],
    [
      '{"exports":{"a/b":{"c":{"__proto__":1}}}}',
      JSON.parse('{"exports":{"a/b":{"c":{"__proto__":1}}}}'),
      'exports["a/b"].c.__proto__',
    ],
  ])("of the patch %s have the whole path", (_, patch, path) => {
    expect(patchError(patch).issues[0]).toEqual({ path, message: "is not a known field", line: 2 });
  });
});

test("a snapshot is read in steps of 64 entries of all tables together", () => {
  const namespaces = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`n${index}`, {}]));
  const pods = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`n/10.0.0.${index}`, {}]));
  const steps = parseInSteps({ ...emptySnapshot("west"), namespaces, pods });
  let count = 0;
  while (!steps.next().done) count++;
  expect(count).toBe(3);
});

test.each([
  ["west", true],
  ["west.eu", true],
  ["a", true],
  ["a.b.c", false],
  ["West", false],
  ["-a", false],
  ["a-", false],
  [`${"a".repeat(63)}.${"b".repeat(63)}`, true],
  ["a".repeat(64), false],
  ["", false],
  ["a\n", false],
])("%j is a cluster id: %s", (text, expected) => {
  expect(isClusterId(text)).toBe(expected);
});
