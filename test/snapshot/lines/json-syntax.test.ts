import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findDuplicateMember, findJsonError, JsonShape } from "../../../src/snapshot/lines/json-syntax.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("findJsonError", () => {
  test.each([
    ['{"a":1,}', 7],
    ['{"a" 1}', 5],
    ["[1 2]", 3],
    ["[1,]", 3],
    ["{a:1}", 1],
    ["01", 0],
    ["[1.]", 1],
    ["nul", 0],
    ['"open', 0],
    ['"bad \\x escape"', 0],
    ['"line\nbreak"', 0],
    ["", 0],
    ["  ", 2],
    ['{"a":', 5],
    ["1 1", 2],
    ["]", 0],
  ])("%j stops being JSON at %i", (text, position) => {
    expect(findJsonError(text)).toBe(position);
  });

  test("finds no error in JSON, and none before the one that it finds elsewhere", () => {
    const json = fc.json({ maxDepth: 4 });
    const edited = fc
      .tuple(json, fc.nat(), fc.constantFrom("", ",", "]", "}", '"', "\\", "1", "\u0001", "\u2028", " "))
      .map(([text, at, put]) => {
        const start = at % (text.length + 1);
        return text.slice(0, start) + put + text.slice(start + 1);
      });
    fc.assert(
      fc.property(fc.oneof(json, edited, fc.string()), (text) => {
        const position = findJsonError(text);
        expect(position).toBeLessThanOrEqual(text.length);
        if (isJson(text)) expect(position).toBe(text.length);
        else expect(findJsonError(text.slice(0, position))).toBe(position);
      }),
      { numRuns: 500 },
    );
  });

  test("what comes before the error can be the start of JSON", () => {
    for (const text of ['{"a":[1,2', '{"a":[1,2}', '[{"b":null},tru]']) {
      const before = text.slice(0, findJsonError(text));
      const ends = ["", "]", "}", "]}", "0]", "0]}", "}]"].some((end) => isJson(before + end));
      expect([text, ends]).toEqual([text, true]);
    }
  });
});

test("JsonShape follows nesting and counts values over parts, and not inside strings", () => {
  const encoder = new TextEncoder();
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.nat(), (text, at) => {
      const bytes = encoder.encode(text);
      const cut = at % (bytes.length + 1);
      const shape = new JsonShape();
      shape.feed(bytes.subarray(0, cut));
      shape.feed(bytes.subarray(cut));
      const value = JSON.parse(text);
      expect(shape.deepest).toBe(levels(value));
      // An empty object or array counts as if it had one.
      expect(shape.values).toBeGreaterThanOrEqual(values(value));
      expect(shape.values).toBeLessThanOrEqual(2 * values(value) + 1);
    }),
  );
});

describe("JsonShape", () => {
  test.each([
    ["1", 0, 0, 0],
    ["[]", 1, 1, 0],
    ["[1,2,3]", 1, 3, 0],
    ['{"a":1,"b":{"c":[]}}', 3, 4, 3],
    ["[[],[[]],[]]", 3, 7, 0],
    ['["[{,:}]","\\"[,:","\\\\",[1]]', 2, 5, 0],
    ['{"a:b":"c:d"}', 1, 1, 1],
    ["[[[", 3, 3, 0],
    ["]]][", 0, 1, 0],
  ])("of %s: %i levels, %i values, %i members", (text, deepest, values, members) => {
    const bytes = new TextEncoder().encode(text);
    const [whole, byByte] = [new JsonShape(), new JsonShape()];
    whole.feed(bytes);
    for (const byte of bytes) byByte.feed(Uint8Array.of(byte));
    for (const shape of [whole, byByte]) {
      const { deepest: levels, values: all, members: named } = shape;
      expect([levels, all, named]).toEqual([deepest, values, members]);
    }
  });
});

describe("findDuplicateMember", () => {
  test.each([
    ['{"a":1,"b":2}', undefined],
    ['{"a":1,"a":2}', "a"],
    ['{"a":{"a":1},"b":{"a":1}}', undefined],
    ['[{"a":1},{"a":1}]', undefined],
    ['{"b":{"c":1,"c":2},"b":3}', "c"],
    ['{"a":1,"\\u0061":2}', "a"],
    ['{"":1,"":2}', ""],
    ['{"b":1,"a":1,"a":2,"b":2}', "a"],
  ])("of %s is %s: the first", (text, name) => {
    expect(findDuplicateMember(text)).toBe(name);
  });
});

function levels(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levels));
}

/** Members and elements, those of members and elements too. */
function values(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inside = Object.values(value);
  return inside.length + inside.reduce((sum: number, one) => sum + values(one), 0);
}
