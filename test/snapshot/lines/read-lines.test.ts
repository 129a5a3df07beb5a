import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { encodeSnapshot } from "../../../src/snapshot/lines/encode.ts";
import { LineSplitter, LinesError } from "../../../src/snapshot/lines/json-syntax.ts";
import { DEFAULT_LINE_LIMITS } from "../../../src/snapshot/lines/patch-line.ts";
import { SnapshotError } from "../../../src/snapshot/parse.ts";
import { readSnapshotLines } from "../changes.ts";
import { shopSnapshot } from "../worlds.ts";
import { concat, cutAt, readAll } from "./bytes.ts";
import { headerLine, sealed } from "./push-lines.ts";

const HEADER = headerLine("west");

const encode = (text: string) => new TextEncoder().encode(text);

function errorOf(read: () => unknown): LinesError {
  try {
    read();
  } catch (error) {
    if (error instanceof LinesError) return error;
    throw error;
  }
  throw new Error("the lines were read");
}

describe("lines", () => {
  const limits = { lineBytes: 400, lineValues: 20, lineLevels: 5 };

  const badLines: [claim: string, text: string, code: string, line: number, message: string][] = [
    [
      "a first line that is no header",
      sealed('["pods","a/b",{}]'),
      "INVALID_LINE",
      1,
      "the first line must be",
    ],
    ["no header but the end", sealed(), "INVALID_LINE", 1, "the first line must be"],
    ["another format", sealed('{"formatVersion":1,"clusterId":"a"}'), "UNSUPPORTED_FORMAT", 1, "version 1;"],
    ["no cluster id", sealed('{"formatVersion":2}'), "INVALID_LINE", 1, "clusterId"],
    ["a bad cluster id", sealed('{"formatVersion":2,"clusterId":"A"}'), "INVALID_LINE", 1, "RFC 1123"],
    ["a long header", sealed('{"formatVersion":2,"clusterId":"a","x":1}'), "INVALID_LINE", 1, '"x" is not'],
    [
      "an unknown table",
      sealed(HEADER, '["toString","a/b",{}]'),
      "INVALID_LINE",
      2,
      "must begin with one of",
    ],
    ["a number", sealed(HEADER, "1"), "INVALID_LINE", 2, "is not a change"],
    ["a value that is an array", sealed(HEADER, '["pods","a/b",[]]'), "INVALID_LINE", 2, '["pods",<key>,'],
    ["no key", sealed(HEADER, '["pods",{}]'), "INVALID_LINE", 2, '["pods",<key>,'],
    [
      "a key for a single value",
      sealed(HEADER, '["topology","a",{}]'),
      "INVALID_LINE",
      2,
      '["topology",<obj',
    ],
    ["four elements", sealed(HEADER, '["pods","a/b",{},{}]'), "INVALID_LINE", 2, '["pods",<key>,'],
    ["an object that is no end", sealed(HEADER, '{"lines":1}'), "INVALID_LINE", 2, "nor the last line"],
    ["a second header", sealed(HEADER, HEADER), "INVALID_LINE", 2, "nor the last line"],
    ["an empty line", sealed(HEADER, ""), "INVALID_JSON", 2, "Unexpected end"],
    ["no JSON", sealed(HEADER, '["pods" {}]'), "INVALID_JSON", 2, 'position 8, found "{}]'],
    ["a byte order mark", `\ufeff${sealed(HEADER)}`, "INVALID_JSON", 1, "is not JSON: Unexpected token"],
    [
      "two members of one name",
      sealed(HEADER, '["pods","a/b",{"x":{"y":1,"y":2}}]'),
      "INVALID_JSON",
      2,
      '"y"',
    ],
    ["one name in two ways", sealed(HEADER, '["pods","a/b",{"y":1,"\\u0079":2}]'), "INVALID_JSON", 2, '"y"'],
    [
      "a deep line",
      sealed(HEADER, '["pods","a/b",{"a":[[[[1]]]]}]'),
      "JSON_TOO_DEEP",
      2,
      "more than 5 levels",
    ],
    ["a wide line", sealed(HEADER, `["pods","a/b",{"a":[${"1,".repeat(20)}1]}]`), "LINE_TOO_LONG", 2, "20"],
    [
      "a long line",
      sealed(HEADER, `["pods","${"a".repeat(400)}",{}]`),
      "LINE_TOO_LONG",
      2,
      "more than 400 bytes",
    ],
    [
      "a long line without an end",
      `${HEADER}\n${"a".repeat(401)}`,
      "LINE_TOO_LONG",
      2,
      "more than 400 bytes",
    ],
    [
      "a wrong count",
      `${HEADER}\n{"lines":2,"sha256":"00"}\n`,
      "END_MISMATCH",
      2,
      "counts 2 lines, but follows 1",
    ],
    ["a wrong hash", `${HEADER}\n{"lines":1,"sha256":"00"}\n`, "END_MISMATCH", 2, "have the SHA-256 "],
    [
      "a line after the end",
      `${sealed(HEADER)}["pods","a/b",{}]\n`,
      "INVALID_LINE",
      3,
      "follows the last line",
    ],
    ["bytes after the end", `${sealed(HEADER)} `, "END_MISSING", 3, "something is cut off"],
    ["nothing", "", "END_MISSING", 1, "something is cut off"],
  ];

  describe("lines that cannot be read", () => {
    test.each(badLines)("%s: the error names code and line", (_, text, code, line, message) => {
      const bytes = encode(text);
      for (const pieces of [[bytes], cutAt(bytes, [...bytes.keys()])]) {
        const error = errorOf(() => readAll(pieces, limits));
        expect(error).toMatchObject({ code, line, message: expect.stringContaining(message) });
        expect(error.message.startsWith(`line ${line}`)).toBe(true);
      }
    });

    test("bytes that are not UTF-8 are found in their line", () => {
      const bytes = concat([encode(`${HEADER}\n["pods","`), Uint8Array.of(0xff), encode('/b",{}]\n')]);
      expect(errorOf(() => readAll([bytes]))).toMatchObject({ code: "INVALID_UTF8", line: 2 });
    });

    test("a body that is cut anywhere is never whole", () => {
      const bytes = concat(encodeSnapshot(shopSnapshot("west", 1)));
      for (let length = 0; length < bytes.length; length++)
        expect(errorOf(() => readSnapshotLines([bytes.subarray(0, length)])).code).toBe("END_MISSING");
      expect(readSnapshotLines([bytes])).toEqual(shopSnapshot("west", 1));
    });

    test("any changed byte is found", () => {
      const bytes = concat(encodeSnapshot(shopSnapshot("west", 1)));
      const endHash = bytes.length - 67;
      fc.assert(
        fc.property(fc.nat({ max: endHash }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
          const changed = bytes.slice();
          changed[at] = changed[at]! ^ flip;
          expect(() => readSnapshotLines([changed])).toThrow();
        }),
      );
    });

    test("the wrong line is not held: what follows it is not read", () => {
      const reader = cutAt(encode(`${HEADER}\nx\n["pods","a/b",{}]\n`), []);
      expect(errorOf(() => readAll(reader)).line).toBe(2);
    });
  });
  describe("changes that are not valid", () => {
    test("all are named, with those of one entry only from its first wrong line", () => {
      const lines = ['["pods","a/b",{"x":1}]', '["pods","a/b",{"y":1}]', '["pods","c",{}]'];
      expect(issuesOf(sealed(HEADER, ...lines)).issues.map(({ path, line }) => [path, line])).toEqual([
        ['pods["a/b"].x', 2],
        ["pods.c", 4],
      ]);
    });

    test("a thousand are enough", () => {
      const lines = Array.from({ length: 1500 }, (_, index) => `["pods","n${index}",{}]`);
      expect(issuesOf(sealed(HEADER, ...lines)).total).toBe(1000);
    });
  });

  function issuesOf(text: string): SnapshotError {
    try {
      readSnapshotLines([encode(text)]);
    } catch (error) {
      if (error instanceof SnapshotError) return error;
      throw error;
    }
    throw new Error("the lines were taken");
  }
});

describe("a line's shape", () => {
  const limits = { ...DEFAULT_LINE_LIMITS, lineValues: 8, lineLevels: 4 };
  // 3 elements, and in the entry one member with an array of so many elements.
  const wide = (elements: number) => `["pods","a/b",{"a":[${new Array(elements).fill(1)}]}]`;
  const deep = (levels: number) => `["pods","a/b",${'{"a":'.repeat(levels)}1${"}".repeat(levels)}]`;
  const read = (...lines: string[]) => readAll([encode(sealed(HEADER, ...lines))], limits);

  test("may have as many values and levels as the limits say, and not one more", () => {
    expect(read(wide(4), deep(3)).map(({ values }) => values)).toEqual([8, 6]);
    expect(errorOf(() => read(wide(5)))).toMatchObject({
      code: "LINE_TOO_LONG",
      message: "line 2: has more than 8 members and elements: split the entry",
    });
    expect(errorOf(() => read(deep(4)))).toMatchObject({
      code: "JSON_TOO_DEEP",
      message: "line 2: is nested more than 4 levels deep",
    });
  });

  it.each([
    ['["pods","a/b",{"__proto__":1}]', true],
    ['["pods","a/b",{"a":[{"__proto__":1}]}]', true],
    ['["pods","__proto__",{"a":"__proto__"}]', false],
  ])("%s has a member __proto__: %s", (text, expected) => {
    expect(read(text)[0]!.hasPrototypeKey).toBe(expected);
  });
});

describe("bytes in pieces", () => {
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

  it("may be changed once they were taken", () => {
    const splitter = new LineSplitter(100);
    const memory = encode("abc");
    expect([...splitter.feed(memory)]).toEqual([]);
    memory.fill(0x7a);
    expect([...splitter.feed(encode("d\n"))].map(decode)).toEqual(["abcd\n"]);
  });

  it.each([[["abcd\n"]], [["ab", "cd\n"]], [["abcd", "\n"]], [["x\nabcd\n"]]])(
    "may be a line of as many bytes as it may have: %j",
    (pieces) => {
      const splitter = new LineSplitter(4);
      const lines = pieces.flatMap((piece) => [...splitter.feed(encode(piece))].map(decode));
      expect(lines.at(-1)).toBe("abcd\n");
    },
  );
});
