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
