import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonShape, readJsonLine } from "../../../src/snapshot/lines/json-syntax.ts";

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

describe("readJsonLine", () => {
  const limits = { lineBytes: 1000, lineLevels: 5, lineValues: 100 };
  const read = (text: string) => readJsonLine(new TextEncoder().encode(text), 7, limits);

  test.each([
    ['{"a":1,"a":2}', '"a"'],
    ['{"b":{"c":1,"c":2},"b":3}', '"b"'],
    ['[{"a":{"a":1}},{"b":1,"a":{"c":1,"c":2}}]', '"c"'],
    ['{"a":1,"\\u0061":"a:b"}', '"a"'],
    ['{"":1,"":2}', '""'],
    ['{"a\\"":"x","a\\"":["x", ":y"]}', '"a\\""'],
    ['{"__proto__":1,"__proto__":{}}', '"__proto__"'],
  ])("of %s rejects two members %s", (text, name) => {
    const message = `line 7: one object has two members ${name}`;
    expect(() => read(text)).toThrow(expect.objectContaining({ code: "INVALID_JSON", message }));
  });

  test.each(['{"a":1,"b":2}', '{"a":{"a":1},"b":{"a":1}}', '[{"a":1},{"a":1}]'])(
    "of %s accepts one name in several objects",
    (text) => {
      expect(read(text).value).toEqual(JSON.parse(text));
    },
  );

  test.each([
    ['{"a":1,}', 'at position 7, found "}"'],
    ['{"a" 1}', 'at position 5, found "1}"'],
    ["[1 2]\n", 'at position 3, found "2]\\n"'],
    ["nul\n", "Unexpected token '\\n', \"nul\\n\" is not valid JSON"],
    ['"open\n', 'at position 5, found "\\n"'],
    ["\n", "Unexpected end of JSON input"],
    ["]", "Unexpected token ']'"],
  ])("of %j says %s", (text, found) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({ code: "INVALID_JSON", line: 7, message: expect.stringContaining(found) }),
    );
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
