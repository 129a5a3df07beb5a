import { createHash } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { LinesError } from "../../../src/snapshot/lines/lines-error.ts";
import { LinesReader } from "../../../src/snapshot/lines/lines-reader.ts";
import { DEFAULT_LINE_LIMITS, type LineLimits } from "../../../src/snapshot/lines/patch-line.ts";
import { headerLine, sealed } from "./push-lines.ts";

const HEADER = headerLine("west");

function read(text: string, limits?: LineLimits) {
  const reader = new LinesReader(limits);
  const lines = [...reader.feed(new TextEncoder().encode(text))];
  return { reader, lines, header: reader.finish() };
}

function errorOf(text: string, limits?: LineLimits): string {
  try {
    read(text, limits);
  } catch (error) {
    if (error instanceof LinesError) return `${error.code} ${error.message}`;
    throw error;
  }
  throw new Error("the lines were read");
}

describe("the first line", () => {
  const report = [{ reason: "API_UNREACHABLE", seconds: 5 }];

  test("has what keeps the worker from reading all of its cluster", () => {
    expect(read(sealed(headerLine("west", { degraded: report }))).header).toEqual({
      ...{ formatVersion: 2, clusterId: "west", degraded: report },
    });
    expect(read(sealed(HEADER)).header).toEqual({ formatVersion: 2, clusterId: "west" });
  });

  it.each([
    ["[]", 'INVALID_LINE line 1: the first line must be {"formatVersion":2,"clusterId":…}'],
    ["{}", 'INVALID_LINE line 1: the first line must be {"formatVersion":2,"clusterId":…}'],
    ['{"formatVersion":"2"}', 'UNSUPPORTED_FORMAT line 1: has the format version "2"; this program reads 2'],
    [
      headerLine("a.b.c"),
      "INVALID_LINE line 1: clusterId must be one RFC 1123 label, or two joined by a dot",
    ],
    [
      headerLine("west", { ["x".repeat(400)]: 1 }),
      `INVALID_LINE line 1: "${"x".repeat(300)}" is not a known field`,
    ],
    [headerLine("west", { degraded: [{ reason: "a" }] }), /^INVALID_LINE line 1: degraded\.0\.reason: /],
    [headerLine("west", { degraded: 1 }), /^INVALID_LINE line 1: degraded: .*array/],
  ])("%s is rejected: %s", (text, expected) => {
    expect(errorOf(sealed(text))).toMatch(expected);
  });
});

describe("the last line", () => {
  const sha256 = createHash("sha256").update(`${HEADER}\n`).digest("hex");
  const ended = (end: object) => `${HEADER}\n${JSON.stringify(end)}\n`;
  const neither = "INVALID_LINE line 2: is neither a change, which is an array, nor the last line";

  test("is kept, and its hash may have capitals", () => {
    for (const hash of [sha256, sha256.toUpperCase()])
      expect(read(ended({ lines: 1, sha256: hash })).reader.end).toEqual({ lines: 1, sha256 });
  });

  it.each([
    [{ lines: "1", sha256 }, neither],
    [{ lines: 1, sha256: 1 }, neither],
    [{ lines: 1 }, neither],
    [{ sha256 }, neither],
    [{ lines: 1, sha256, more: 1 }, neither],
    [{ lines: 0, sha256 }, "END_MISMATCH line 2: counts 0 lines, but follows 1"],
    [
      { lines: 1, sha256: "0".repeat(64) },
      `END_MISMATCH line 2: the bytes before it have the SHA-256 ${sha256}`,
    ],
  ])("%j is rejected: %s", (end, expected) => {
    expect(errorOf(ended(end))).toBe(expected);
  });
});

describe("a change", () => {
  it.each([
    ['["pods","a/b",{}]', ["pods", "a/b", {}]],
    ['["pods","a/b",null]', ["pods", "a/b", null]],
    ['["topology",{}]', ["topology", {}]],
    ['["clusterZone",null]', ["clusterZone", null]],
    [`["pods","${"k".repeat(1024)}",null]`, ["pods", "k".repeat(1024), null]],
  ])("%s is read, with the number of its line", (text, change) => {
    expect(read(sealed(HEADER, text)).lines).toMatchObject([{ number: 2, change }]);
  });

  it.each([
    [`["pods","${"k".repeat(1025)}",{}]`, "has a key of more than 1024 characters"],
    ['["pods",1,{}]', 'must be ["pods",<key>,<object or null>]'],
    ['["pods","a/b",1]', 'must be ["pods",<key>,<object or null>]'],
    ['["pods","a/b"]', 'must be ["pods",<key>,<object or null>]'],
    ['["topology"]', 'must be ["topology",<object or null>]'],
    ['["topology","eu"]', 'must be ["topology",<object or null>]'],
    ['["topology",{},{}]', 'must be ["topology",<object or null>]'],
    [
      "[]",
      "must begin with one of namespaces, exports, imports, services, pods, findings, topology, clusterZone",
    ],
    ['[["pods"],"a/b",{}]', "must begin with one of "],
    ["null", "is not a change, which is an array"],
  ])("%s is rejected: %s", (text, expected) => {
    expect(errorOf(sealed(HEADER, text))).toContain(`INVALID_LINE line 2: ${expected}`);
  });
});

describe("a line's shape", () => {
  const limits = { ...DEFAULT_LINE_LIMITS, lineValues: 8, lineLevels: 4 };
  // 3 elements, and in the entry one member with an array of so many elements.
  const wide = (elements: number) => `["pods","a/b",{"a":[${new Array(elements).fill(1)}]}]`;
  const deep = (levels: number) => `["pods","a/b",${'{"a":'.repeat(levels)}1${"}".repeat(levels)}]`;

  test("may have as many values and levels as the limits say", () => {
    expect(read(sealed(HEADER, wide(4), deep(3)), limits).lines.map(({ values }) => values)).toEqual([8, 6]);
  });

  test("with one value or one level more is rejected", () => {
    expect(errorOf(sealed(HEADER, wide(5)), limits)).toBe(
      "LINE_TOO_LONG line 2: has more than 8 members and elements: split the entry",
    );
    expect(errorOf(sealed(HEADER, deep(4)), limits)).toBe(
      "JSON_TOO_DEEP line 2: is nested more than 4 levels deep",
    );
  });

  it.each([
    ['["pods","a/b",{"__proto__":1}]', true],
    ['["pods","a/b",{"a":{"b":[{"__proto__":1}]}}]', true],
    ['["pods","__proto__",{"a":"__proto__"}]', false],
  ])("%s has a member __proto__: %s", (text, expected) => {
    expect(read(sealed(HEADER, text)).lines[0]!.hasPrototypeKey).toBe(expected);
  });

  it.each([
    ['["pods","a/b",{"a":null,"b":[null,{"c":1}]}]', undefined],
    ['["pods","a/b",{"a":null,"a":1}]', 'one object has two members "a"'],
    ['["pods","a/b",{"a":[{"b":1},{"b":1,"b":2}]}]', 'one object has two members "b"'],
    [
      `["pods","a/b",{"${"x".repeat(400)}":1,"${"x".repeat(400)}":2}]`,
      `one object has two members "${"x".repeat(300)}"`,
    ],
    ['["pods","a/b",{"a":1]', 'line 2, column 21: is not JSON: found "]"'],
    ['["pods","a/b",  nonsense that is long]', 'line 2, column 17: is not JSON: found "nonsense tha"'],
    ['["pods","a/b",{}', "line 2, column 17: is not JSON: it ends"],
    // A no-break space is no white space in JSON.
    ['["pods","a/b",{}\u00a0', 'line 2, column 17: is not JSON: found "\u00a0"'],
  ])("%s is JSON, or the error is %s", (text, message) => {
    if (message === undefined) expect(read(sealed(HEADER, text)).lines).toHaveLength(1);
    else expect(errorOf(sealed(HEADER, text))).toContain(message);
  });
});

describe("the end of all bytes", () => {
  it.each([
    ["", 1],
    [HEADER, 1],
    [`${HEADER}\n`, 2],
    [`${sealed(HEADER)}x`, 3],
  ])("after %j is too early: line %i is missing", (text, line) => {
    expect(errorOf(text)).toBe(
      `END_MISSING line ${line}: the lines end without {"lines":…,"sha256":…}: something is cut off`,
    );
  });
});
