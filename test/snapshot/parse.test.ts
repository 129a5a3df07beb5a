import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { equalJson } from "../../src/snapshot/json-value.ts";
import { COLLECTIONS, parseSnapshot, SINGLES } from "../../src/snapshot/parse.ts";
import { MOST_ISSUES, SnapshotError } from "../../src/snapshot/snapshot-error.ts";
import { headlessExport, shopSnapshot, snapshots } from "./worlds.ts";

function issuesOf(value: unknown) {
  try {
    parseSnapshot(value);
  } catch (error) {
    if (error instanceof SnapshotError) return error;
    throw error;
  }
  throw new Error("the snapshot was taken");
}

/** A valid snapshot with one member changed along a path. */
function changed(path: readonly (string | number)[], value: unknown): unknown {
  const snapshot = structuredClone(shopSnapshot("west"));
  let target: Record<string | number, unknown> = snapshot as never;
  for (const step of path.slice(0, -1)) target = target[step] as never;
  target[path.at(-1)!] = value;
  return snapshot;
}

describe("parseSnapshot", () => {
  test("returns any valid snapshot unchanged", () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        expect(parseSnapshot(snapshot)).toEqual(snapshot);
      }),
    );
  });

  test.each<[string, readonly (string | number)[], unknown, RegExp]>([
    ['exports["shop/web"].ports[0].port', ["exports", "shop/web", "ports", 0, "port"], "80", /number/],
    ["formatVersion", ["formatVersion"], 2, /1/],
    ["clusterId", ["clusterId"], "Not_A_Label", /RFC 1123/],
    ["clusterId", ["clusterId"], "a.b.c", /RFC 1123/],
    ['namespaces["Shop!"]', ["namespaces", "Shop!"], {}, /not a valid key.*namespace name/],
    ["extra", ["extra"], 1, /not a known field/],
    ['exports["no-slash"]', ["exports", "no-slash"], {}, /not a valid key/],
    ['exports["shop/web"].exportedAt', ["exports", "shop/web", "exportedAt"], "yesterday", /datetime/i],
    [
      'exports["shop/web"].endpoints["http/TCP/8080"].members["10.0.0.1"].redy',
      ["exports", "shop/web", "endpoints", "http/TCP/8080", "members", "10.0.0.1", "redy"],
      true,
      /not a known field/,
    ],
  ])("names the invalid field %s", (name, path, value, message) => {
    const error = issuesOf(changed(path, value));
    expect(error.code).toBe("INVALID_SNAPSHOT");
    const issue = error.issues.find(({ path }) => path === name);
    expect(issue?.message).toMatch(message);
    expect(error.message).toContain(name);
  });

  test.each([null, undefined, 1, "text", [], [{}]])("rejects %j", (value) => {
    expect(issuesOf(value).issues.length).toBeGreaterThan(0);
  });

  test("lists at most 20 issues, and counts all", () => {
    const ports = Array.from({ length: 100 }, () => ({ name: 1, protocol: "TCP", port: 1 }));
    const error = issuesOf(changed(["exports", "shop/web", "ports"], ports));
    expect(error.issues).toHaveLength(MOST_ISSUES);
    expect(error.total).toBe(100);
    expect(error.message).toContain("80 more");
  });

  test("accepts a snapshot without the fields of zones of single clusters", () => {
    const { services: _, pods: __, ...older } = shopSnapshot("west");
    const snapshot = parseSnapshot(JSON.parse(JSON.stringify(older)));
    expect(snapshot).toEqual({ ...older, services: {}, pods: {} });
    expect(snapshot).not.toHaveProperty("clusterZone");
  });

  test.each([
    ["__proto__", '{"__proto__":{}}'],
    ["namespaces.__proto__", '{"namespaces":{"__proto__":{}}}'],
    ["exports.__proto__", '{"exports":{"__proto__":{"polluted":true}}}'],
    ['exports["shop/x"].exportedLabels.__proto__', LABELS],
    ['exports["shop/x"].endpoints.__proto__', LABELS.replace("exportedLabels", "endpoints")],
    ["topology.__proto__", '{"topology":{"__proto__":{}}}'],
  ])("rejects %s, and changes no prototype", (path, text) => {
    const { issues } = issuesOf({ ...shopSnapshot("west"), ...JSON.parse(text) });
    expect(issues).toEqual([
      { path, message: expect.stringMatching(/is not a known field|Unrecognized key/) },
    ]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

const LABELS = `{"exports":{"shop/x":${JSON.stringify(headlessExport(0)).replace(/\}$/, ',"exportedLabels":{"__proto__":"1"}}')}}}`;

describe("parseSnapshot with the previous snapshot", () => {
  test("returns the same value as without, and shares exactly the unchanged parts", () => {
    fc.assert(
      fc.property(snapshots, snapshots, (before, given) => {
        const snapshot = parseSnapshot(structuredClone(given), { before });
        expect(snapshot).toEqual(given);
        for (const name of [...COLLECTIONS, ...SINGLES])
          if (given[name] !== undefined && Object.keys(given[name]).length > 0)
            expect(snapshot[name] === before[name], name).toBe(equalJson(given[name], before[name]));
        for (const collection of COLLECTIONS)
          for (const [key, entry] of Object.entries(snapshot[collection]))
            expect(entry === before[collection][key], key).toBe(
              equalJson(given[collection][key], before[collection][key]),
            );
      }),
    );
  });

  test("copies a table in which one entry was replaced by another", () => {
    const before = shopSnapshot("west");
    const exports = { "shop/db": headlessExport(1) };
    expect(parseSnapshot({ ...before, exports }, { before }).exports).toEqual(exports);
  });

  test("names each invalid field in changed entries", () => {
    const before = shopSnapshot("west");
    const given = structuredClone(before) as { exports: Record<string, unknown> };
    given.exports["shop/db"] = { ...headlessExport(1), headless: "yes" };
    expect(() => parseSnapshot(given, { before })).toThrow(/exports\["shop\/db"\].headless/);
  });
});

test("parseSnapshot removes entries only from a value that the caller gave away", () => {
  const [kept, given] = [shopSnapshot("west"), shopSnapshot("west")];
  expect(parseSnapshot(kept)).toEqual(shopSnapshot("west"));
  expect(kept).toEqual(shopSnapshot("west"));
  expect(parseSnapshot(given, { consume: true })).toEqual(shopSnapshot("west"));
  expect([given.namespaces, given.exports]).toEqual([{ shop: undefined }, { "shop/web": undefined }]);
});
