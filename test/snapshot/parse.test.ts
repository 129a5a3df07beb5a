import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
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
import { applyPatch, errorOf } from "./changes.ts";
import { headlessExport, shopSnapshot, snapshots } from "./worlds.ts";

const parseError = (value: unknown) => errorOf(SnapshotError, () => parseSnapshot(value));
const patchError = (patch: object) =>
  errorOf(SnapshotError, () => applyPatch(shopSnapshot("west"), patch as Record<string, unknown>));

/** A valid snapshot with one member changed along a path. */
function changed(path: readonly (string | number)[], value: unknown): unknown {
  const snapshot = structuredClone(shopSnapshot("west"));
  let target: Record<string | number, unknown> = snapshot as never;
  for (const step of path.slice(0, -1)) target = target[step] as never;
  target[path.at(-1)!] = value;
  return snapshot;
}

const WEB = ["exports", "shop/web"];
const MEMBERS = [...WEB, "endpoints", "http/TCP/8080", "members"];

describe("a snapshot", () => {
  test("that is valid is returned unchanged", () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        expect(parseSnapshot(snapshot)).toEqual(snapshot);
      }),
    );
  });

  test.each<[readonly (string | number)[], unknown, RegExp]>([
    [[...WEB, "ports", 0, "port"], "80", /number/],
    [["formatVersion"], 2, /1/],
    [["clusterId"], "Not_A_Label", /RFC 1123/],
    [["namespaces", "Shop!"], {}, /not a valid key.*namespace name/],
    [["extra"], 1, /not a known field/],
    [["exports", "no-slash"], {}, /not a valid key/],
    [[...WEB, "exportedAt"], "yesterday", /datetime/i],
    [[...MEMBERS, "10.0.0.1", "redy"], true, /not a known field/],
    [[...MEMBERS, "a b"], { address: "10.0.0.1" }, /not a valid key: must be an endpoint key/],
  ])("is rejected with the path of its invalid field %j", (path, value, message) => {
    const { issues } = parseError(changed(path, value));
    expect(issues.find((issue) => issue.path === formatPath(path))?.message).toMatch(message);
  });

  test.each([null, undefined, 1, "text", [], [{}]])("is not %j", (value) => {
    expect(parseError(value).message).toMatch(/^the whole value: /);
  });
});

const exported = (name: string) =>
  `{"exports":{"shop/x":${JSON.stringify(headlessExport(0)).replace(/\}$/, `,"${name}":{"__proto__":"1"}}`)}}}`;

test.each([
  ["snapshot", "__proto__", '{"__proto__":{}}'],
  ["snapshot", "namespaces.__proto__", '{"namespaces":{"__proto__":{}}}'],
  ["snapshot", "exports.__proto__", '{"exports":{"__proto__":{"polluted":true}}}'],
  ["snapshot", 'exports["shop/x"].exportedLabels.__proto__', exported("exportedLabels")],
  ["snapshot", 'exports["shop/x"].endpoints.__proto__', exported("endpoints")],
  ["snapshot", "topology.__proto__", '{"topology":{"__proto__":{}}}'],
  ["patch", "exports.__proto__", '{"exports":{"__proto__":{"polluted":1}}}'],
  ["patch", 'exports["a/b"].c.__proto__', '{"exports":{"a/b":{"c":{"__proto__":{"polluted":1}}}}}'],
  ["patch", 'exports["a/b"].constructor', '{"exports":{"a/b":{"constructor":{"prototype":{"polluted":1}}}}}'],
  ["patch", "topology.__proto__", '{"topology":{"__proto__":{"polluted":1}}}'],
])("a hostile %s is rejected for its member %s, and changes no prototype", (kind, path, text) => {
  const hostile = JSON.parse(text);
  const [first] = (
    kind === "patch" ? patchError(hostile) : parseError({ ...shopSnapshot("west"), ...hostile })
  ).issues;
  expect(first).toMatchObject({ path, message: expect.stringMatching(/^is not a (known field|valid key)/) });
  expect(first!.line).toBe(kind === "patch" ? 2 : undefined);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test("a message lists twenty issues, and counts the others; parsing stops at a thousand", () => {
  const messageOf = (count: number) =>
    new SnapshotError(Array(count).fill({ path: "a", message: "is wrong" })).message;
  expect(messageOf(1)).toBe("a: is wrong");
  expect(messageOf(20)).toBe(Array(20).fill("a: is wrong").join("; "));
  expect(messageOf(21)).toBe(`${messageOf(20)}; and 1 more`);
  const broken = (value: unknown) =>
    Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`shop/s${index}`, value]));
  expect(parseError({ ...shopSnapshot("west"), exports: broken(5) }).total).toBe(1000);
  expect(patchError({ exports: broken({ headless: 5 }) }).total).toBe(1000);
});

test.each<[readonly (string | number)[], string]>([
  [[], ""],
  [["exports", "shop/web", "ports", 0, "port"], 'exports["shop/web"].ports[0].port'],
  [["$a_1", "b"], "$a_1.b"],
  [["1a"], '["1a"]'],
  [["x".repeat(301)], "x".repeat(301)],
  [[`${"-".repeat(299)}ab`], `["${"-".repeat(299)}a"]`],
])("the path %j is written as the JavaScript expression %s", (path, text) => {
  expect(formatPath(path)).toBe(text);
});

test("a cluster id is one RFC 1123 label, or two joined by a dot", () => {
  const [a, b] = ["a".repeat(63), "b".repeat(63)];
  for (const id of ["west", "west.eu", "a", `${a}.${b}`]) expect(isClusterId(id), id).toBe(true);
  for (const id of ["a.b.c", "West", "-a", "a-", `${a}a`, "", "a\n"]) expect(isClusterId(id), id).toBe(false);
});

describe("a report", () => {
  it("of all reasons that this version knows is valid", () => {
    const report = Array.from(DEGRADATION_REASONS.keys(), (reason) => ({ reason, seconds: 0 }));
    expect(report.length).toBeLessThanOrEqual(MOST_DEGRADATIONS);
    expect(Report.parse({ degraded: report })).toEqual({ degraded: report });
  });

  it("may have any text as a subject, of which it keeps the end, which tells files apart", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        const subject = toSubject(text);
        const report = [{ reason: "MANIFEST_BROKEN", seconds: 0, ...(subject !== undefined && { subject }) }];
        expect(Report.safeParse({ degraded: report }).success).toBe(true);
        expect(subject === undefined).toBe(text === "");
      }),
    );
    expect(toSubject(`${"folder/".repeat(50)}größe.yaml`)).toMatch(/folder\/gr__e\.yaml$/);
  });

  it.each([
    [{ reason: "API_UNREACHABLE" }, "API server unreachable"],
    [{ reason: "RBAC_FORBIDDEN", subject: "services" }, "a right is missing (services)"],
    [{ reason: "MANIFEST_BROKEN", subject: "web.yaml", count: 3 }, "manifest broken (web.yaml and 2 more)"],
    [{ reason: "NEW_REASON" }, "NEW_REASON"],
  ])("of %o is in words: %s", (degradation, words) => {
    expect(describeDegradation(degradation)).toBe(words);
  });

  it("has a key that changes with reasons, subjects and counts, and not with their order", () => {
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
});
