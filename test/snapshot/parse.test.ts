import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import { formatPath, parseSnapshot, SnapshotError } from "../../src/snapshot/parse.ts";
import {
  DEGRADATION_REASONS,
  describeDegradation,
  MOST_DEGRADATIONS,
  Report,
  reportKey,
  toSubject,
} from "../../src/snapshot/report.ts";
import { isClusterId } from "../../src/snapshot/schema.ts";
import { applyPatch } from "./changes.ts";
import { headlessExport, shopSnapshot, snapshots } from "./worlds.ts";

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
    const error = parseError(changed(path, value));
    expect(error.code).toBe("INVALID_SNAPSHOT");
    const issue = error.issues.find(({ path }) => path === name);
    expect(issue?.message).toMatch(message);
    expect(error.message).toContain(name);
  });

  test.each([null, undefined, 1, "text", [], [{}]])("rejects %j", (value) => {
    expect(parseError(value).issues.length).toBeGreaterThan(0);
  });
  test.each([
    ["__proto__", '{"__proto__":{}}'],
    ["namespaces.__proto__", '{"namespaces":{"__proto__":{}}}'],
    ["exports.__proto__", '{"exports":{"__proto__":{"polluted":true}}}'],
    ['exports["shop/x"].exportedLabels.__proto__', LABELS],
    ['exports["shop/x"].endpoints.__proto__', LABELS.replace("exportedLabels", "endpoints")],
    ["topology.__proto__", '{"topology":{"__proto__":{}}}'],
  ])("rejects %s, and changes no prototype", (path, text) => {
    const { issues } = parseError({ ...shopSnapshot("west"), ...JSON.parse(text) });
    expect(issues).toEqual([
      { path, message: expect.stringMatching(/is not a known field|Unrecognized key/) },
    ]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

const LABELS = `{"exports":{"shop/x":${JSON.stringify(headlessExport(0)).replace(/\}$/, ',"exportedLabels":{"__proto__":"1"}}')}}}`;

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

it("a report of all reasons that this version knows is valid", () => {
  const report = Array.from(DEGRADATION_REASONS.keys(), (reason) => ({ reason, seconds: 0 }));
  expect(report.length).toBeLessThanOrEqual(MOST_DEGRADATIONS);
  expect(Report.parse({ degraded: report })).toEqual({ degraded: report });
});

it("any text becomes a valid subject, or none", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      const subject = toSubject(text);
      const report = [{ reason: "MANIFEST_BROKEN", seconds: 0, ...(subject !== undefined && { subject }) }];
      expect(Report.safeParse({ degraded: report }).success).toBe(true);
      expect(subject === undefined).toBe(text === "");
    }),
  );
});

it("a subject keeps its end, which tells files apart", () => {
  expect(toSubject(`${"folder/".repeat(50)}größe.yaml`)).toMatch(/folder\/gr__e\.yaml$/);
});

it.each([
  [{ reason: "API_UNREACHABLE" }, "API server unreachable"],
  [{ reason: "RBAC_FORBIDDEN", subject: "services" }, "a right is missing (services)"],
  [{ reason: "MANIFEST_BROKEN", subject: "web.yaml", count: 3 }, "manifest broken (web.yaml and 2 more)"],
  [{ reason: "NEW_REASON" }, "NEW_REASON"],
])("%o is in words: %s", (degradation, words) => {
  expect(describeDegradation(degradation)).toBe(words);
});

it("the key of a report changes with reasons, subjects and counts, and not with their order", () => {
  const since = 0;
  const [one, other] = [
    { reason: "A", since },
    { reason: "B", since, subject: "web.yaml", count: 2 },
  ];
  const key = reportKey({ degraded: [one, other] });
  expect(reportKey({ degraded: [other, { ...one, count: 1, since: 9 }] })).toBe(key);
  for (const degraded of [[one], [one, { ...other, count: 3 }], [one, { ...other, subject: "db.yaml" }]])
    expect(reportKey({ degraded })).not.toBe(key);
});
