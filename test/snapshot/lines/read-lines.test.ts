import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeSnapshot } from "../../../src/snapshot/lines/encode.ts";
import { LineSplitter, LinesError } from "../../../src/snapshot/lines/json-syntax.ts";
import { DEFAULT_LINE_LIMITS, type LineLimits } from "../../../src/snapshot/lines/patch-line.ts";
import { SnapshotError } from "../../../src/snapshot/parse.ts";
import { errorOf, readSnapshotLines } from "../changes.ts";
import { shopSnapshot } from "../worlds.ts";
import { concat, cutAt, headerLine, readAll, sealed } from "./push-lines.ts";

const HEADER = headerLine("west");
const encode = (text: string) => new TextEncoder().encode(text);

describe("lines that cannot be read", () => {
  const limits = { lineBytes: 400, lineValues: 20, lineLevels: 5 };
  const push = (...lines: string[]) => sealed(HEADER, ...lines);
  const header = (text: string) => sealed(`{${text}}`);
  const wide = `["pods","a/b",{"a":[${"1,".repeat(20)}1]}]`;

  /** By code: what is wrong, the lines, the wrong one, and a part of the message. */
  const WRONG: Readonly<Record<string, readonly (readonly [string, string, number, string])[]>> = {
    INVALID_LINE: [
      ["a first line that is no header", sealed('["pods","a/b",{}]'), 1, "the first line must be"],
      ["no header but the end", sealed(), 1, "the first line must be"],
      ["no cluster id", header('"formatVersion":2'), 1, "clusterId"],
      ["a bad cluster id", header('"formatVersion":2,"clusterId":"A"'), 1, "RFC 1123"],
      ["a long header", header('"formatVersion":2,"clusterId":"a","x":1'), 1, '"x" is not'],
      ["an unknown table", push('["toString","a/b",{}]'), 2, "must begin with one of"],
      ["a number", push("1"), 2, "is not a change"],
      ["a value that is an array", push('["pods","a/b",[]]'), 2, '["pods",<key>,'],
      ["no key", push('["pods",{}]'), 2, '["pods",<key>,'],
      ["a key for a single value", push('["topology","a",{}]'), 2, '["topology",<obj'],
      ["four elements", push('["pods","a/b",{},{}]'), 2, '["pods",<key>,'],
      ["an object that is no end", push('{"lines":1}'), 2, "nor the last line"],
      ["a line after the end", `${push()}["pods","a/b",{}]\n`, 3, "follows the last line"],
    ],
    INVALID_JSON: [
      ["an empty line", push(""), 2, "Unexpected end of JSON input"],
      ["no JSON, with its position", push('["pods" {}]'), 2, 'position 8, found "{}]'],
      [
        "no JSON, with the end of the line",
        push("nul"),
        2,
        "Unexpected token '\\n', \"nul\\n\" is not valid",
      ],
      ["a byte order mark", `\ufeff${push()}`, 1, "is not JSON: Unexpected token"],
      ...[
        ['{"a":1,"a":2}', '"a"'],
        ['{"b":{"c":1,"c":2},"b":3}', '"b"'],
        ['{"l":[{"a":{"a":1}},{"b":1,"a":{"c":1,"c":2}}]}', '"c"'],
        ['{"a":1,"\\u0061":"a:b"}', '"a"'],
        ['{"":1,"":2}', '""'],
        ['{"a\\"":"x","a\\"":["x", ":y"]}', '"a\\""'],
        ['{"__proto__":1,"__proto__":{}}', '"__proto__"'],
      ].map(
        ([entry, name]) =>
          [`two members in ${entry}`, push(`["pods","a/b",${entry}]`), 2, `has two members ${name}`] as const,
      ),
    ],
    JSON_TOO_DEEP: [["a deep line", push('["pods","a/b",{"a":[[[[1]]]]}]'), 2, "more than 5 levels"]],
    LINE_TOO_LONG: [
      ["a wide line", push(wide), 2, "more than 20 members and elements: split the entry"],
      ["a long line", push(`["pods","${"a".repeat(400)}",{}]`), 2, "more than 400 bytes"],
      ["a long line without an end", `${HEADER}\n${"a".repeat(401)}`, 2, "more than 400 bytes"],
    ],
    END_MISMATCH: [
      ["a wrong count", `${HEADER}\n{"lines":2,"sha256":"00"}\n`, 2, "counts 2 lines, but follows 1"],
      ["a wrong hash", `${HEADER}\n{"lines":1,"sha256":"00"}\n`, 2, "have the SHA-256 "],
    ],
    END_MISSING: [
      ["bytes after the end", `${push()} `, 3, "something is cut off"],
      ["nothing", "", 1, "something is cut off"],
    ],
  };

  const rows = Object.entries(WRONG).flatMap(([code, list]) => list.map((row) => [code, ...row] as const));
  test.each(rows)("%s, %s: the error names code and line", (code, _, text, line, message) => {
    const bytes = encode(text);
    for (const pieces of [[bytes], cutAt(bytes, [...bytes.keys()])]) {
      const error = errorOf(LinesError, () => readAll(pieces, limits));
      expect(error).toMatchObject({ code, line, message: expect.stringContaining(message) });
      expect(error.message.startsWith(`line ${line}`)).toBe(true);
    }
  });

  test("bytes that are not UTF-8 are found in their line", () => {
    const bytes = concat([encode(`${HEADER}\n["pods","`), Uint8Array.of(0xff), encode('/b",{}]\n')]);
    expect(errorOf(LinesError, () => readAll([bytes]))).toMatchObject({ code: "INVALID_UTF8", line: 2 });
  });

  test("a body that is cut anywhere is never whole, and any changed byte is found", () => {
    const bytes = concat(encodeSnapshot(shopSnapshot("west", 1)));
    for (let length = 0; length < bytes.length; length++)
      expect(errorOf(LinesError, () => readSnapshotLines([bytes.subarray(0, length)])).code).toBe(
        "END_MISSING",
      );
    expect(readSnapshotLines([bytes])).toEqual(shopSnapshot("west", 1));
    const endHash = bytes.length - 67;
    fc.assert(
      fc.property(fc.nat({ max: endHash }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = bytes.slice();
        changed[at] = changed[at]! ^ flip;
        expect(() => readSnapshotLines([changed])).toThrow();
      }),
    );
  });
});

test("all changes that are not valid are named, with those of one entry only from its first wrong line, up to a thousand", () => {
  const wrong = (lines: readonly string[]) =>
    errorOf(SnapshotError, () => readSnapshotLines([encode(sealed(HEADER, lines))]));
  const lines = ['["pods","a/b",{"x":1}]', '["pods","a/b",{"y":1}]', '["pods","c",{}]'];
  expect(wrong(lines).issues.map(({ path, line }) => [path, line])).toEqual([
    ['pods["a/b"].x', 2],
    ["pods.c", 4],
  ]);
  expect(wrong(Array.from({ length: 1500 }, (_, index) => `["pods","n${index}",{}]`)).total).toBe(1000);
});

describe("a line's shape", () => {
  const read = (line: string, limits: Partial<LineLimits> = {}) =>
    readAll([encode(sealed(HEADER, line))], { ...DEFAULT_LINE_LIMITS, lineValues: 1e6, ...limits })[0]!;

  test("has as many levels and values as its JSON, and is taken with so many and not with one less", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (json) => {
        const line = `["pods","a/b",{"a":${json}}]`;
        const [lineLevels, count] = [levels(JSON.parse(line)), values(JSON.parse(line))];
        const { values: lineValues } = read(line, { lineLevels });
        expect(errorOf(LinesError, () => read(line, { lineLevels: lineLevels - 1 })).code).toBe(
          "JSON_TOO_DEEP",
        );
        // An empty object or array counts as if it had one.
        expect(lineValues).toBeGreaterThanOrEqual(count);
        expect(lineValues).toBeLessThanOrEqual(2 * count + 1);
        expect(read(line, { lineValues }).values).toBe(lineValues);
        const code = errorOf(LinesError, () => read(line, { lineValues: lineValues - 1 })).code;
        expect(code).toBe("LINE_TOO_LONG");
      }),
    );
    expect(read('["pods","a/b",{"a":[1,1,1,1]}]').values).toBe(8);
  });
});

test("bytes in pieces may be changed once they were taken, and be a line of as many bytes as it may have", () => {
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  for (const pieces of [["abcd\n"], ["ab", "cd\n"], ["abcd", "\n"], ["x\nabcd\n"]]) {
    const splitter = new LineSplitter(4);
    const lines = pieces.flatMap((piece) => {
      const memory = encode(piece);
      const found = [...splitter.feed(memory)].map(decode);
      memory.fill(0x7a);
      return found;
    });
    expect(lines.at(-1)).toBe("abcd\n");
  }
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
