import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeSnapshot } from "../../../src/snapshot/lines/encode.ts";
import { LinesError } from "../../../src/snapshot/lines/lines-error.ts";
import { SnapshotError } from "../../../src/snapshot/snapshot-error.ts";
import { readSnapshotLines } from "../changes.ts";
import { shopSnapshot } from "../worlds.ts";
import { concat, cutAt, readAll } from "./bytes.ts";
import { sealed } from "./push-lines.ts";

const HEADER = '{"formatVersion":2,"clusterId":"west"}';
const limits = { lineBytes: 400, lineValues: 20, lineLevels: 5 };

function errorOf(read: () => unknown): LinesError {
  try {
    read();
  } catch (error) {
    if (error instanceof LinesError) return error;
    throw error;
  }
  throw new Error("the lines were read");
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

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
  ["an unknown table", sealed(HEADER, '["toString","a/b",{}]'), "INVALID_LINE", 2, "must begin with one of"],
  ["a number", sealed(HEADER, "1"), "INVALID_LINE", 2, "is not a change"],
  ["a value that is an array", sealed(HEADER, '["pods","a/b",[]]'), "INVALID_LINE", 2, '["pods",<key>,'],
  ["no key", sealed(HEADER, '["pods",{}]'), "INVALID_LINE", 2, '["pods",<key>,'],
  ["a key for a single value", sealed(HEADER, '["topology","a",{}]'), "INVALID_LINE", 2, '["topology",<obj'],
  ["four elements", sealed(HEADER, '["pods","a/b",{},{}]'), "INVALID_LINE", 2, '["pods",<key>,'],
  ["an object that is no end", sealed(HEADER, '{"lines":1}'), "INVALID_LINE", 2, "nor the last line"],
  ["a second header", sealed(HEADER, HEADER), "INVALID_LINE", 2, "nor the last line"],
  ["an empty line", sealed(HEADER, ""), "INVALID_JSON", 2, "it ends"],
  ["no JSON", sealed(HEADER, '["pods" {}]'), "INVALID_JSON", 2, 'column 9: is not JSON: found "{}]"'],
  ["a byte order mark", `\ufeff${sealed(HEADER)}`, "INVALID_JSON", 1, "column 1"],
  ["two members of one name", sealed(HEADER, '["pods","a/b",{"x":{"y":1,"y":2}}]'), "INVALID_JSON", 2, '"y"'],
  ["one name in two ways", sealed(HEADER, '["pods","a/b",{"y":1,"\\u0079":2}]'), "INVALID_JSON", 2, '"y"'],
  ["a deep line", sealed(HEADER, '["pods","a/b",{"a":[[[[1]]]]}]'), "JSON_TOO_DEEP", 2, "more than 5 levels"],
  ["a wide line", sealed(HEADER, `["pods","a/b",{"a":[${"1,".repeat(20)}1]}]`), "LINE_TOO_LONG", 2, "20"],
  [
    "a long line",
    sealed(HEADER, `["pods","${"a".repeat(400)}",{}]`),
    "LINE_TOO_LONG",
    2,
    "more than 400 bytes",
  ],
  ["a long line without an end", `${HEADER}\n${"a".repeat(401)}`, "LINE_TOO_LONG", 2, "more than 400 bytes"],
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

const web = (fields: object) =>
  JSON.stringify({
    exportedAt: "2024-01-01T00:00:00Z",
    serviceType: "ClusterIP",
    headless: true,
    ports: [],
    endpoints: {},
    ...fields,
  });
const group = (members: object) => ({ "*": { ports: [], members } });
const badChanges: [claim: string, line: string, path: string, message: string][] = [
  ["a key without a slash", `["exports","web",${web({})}]`, "exports.web", "is not a valid key"],
  ["a namespace in capitals", '["namespaces","Shop",{}]', "namespaces.Shop", "is not a valid key"],
  ["an unknown field", `["exports","a/b",${web({ x: 1 })}]`, 'exports["a/b"].x', "is not a known field"],
  ["no field", '["namespaces","a",{"x":1}]', "namespaces.a.x", "is not a known field"],
  [
    "a missing field",
    '["findings","a",{"kind":"x","name":"x","message":"x"}]',
    "findings.a.reason",
    "received undefined",
  ],
  [
    "a missing table",
    `["exports","a/b",${web({ endpoints: null })}]`,
    'exports["a/b"].endpoints',
    "undefined",
  ],
  [
    "a table that is none",
    `["exports","a/b",${web({ endpoints: 1 })}]`,
    'exports["a/b"].endpoints',
    "record",
  ],
  [
    "a wrong member",
    `["exports","a/b",${web({ endpoints: group({ a: { address: 1 } }) })}]`,
    'exports["a/b"].endpoints["*"].members.a.address',
    "expected string",
  ],
  [
    "a wrong key of a member",
    `["exports","a/b",${web({ endpoints: group({ "a b": { address: "" } }) })}]`,
    'exports["a/b"].endpoints["*"].members["a b"]',
    "is not a valid key: must be an endpoint key",
  ],
  [
    "a group without ports",
    `["exports","a/b",${web({ endpoints: { "*": { members: {} } } })}]`,
    'exports["a/b"].endpoints["*"].ports',
    "received undefined",
  ],
  [
    "a wrong label",
    `["exports","a/b",${web({ exportedLabels: { a: 1 } })}]`,
    'exports["a/b"].exportedLabels.a',
    "string",
  ],
  ["a wrong topology", '["topology",{"region":1}]', "topology.region", "expected string"],
  ["__proto__", '["namespaces","a",{"__proto__":{}}]', "namespaces.a.__proto__", "is not a known field"],
  ["__proto__ as a key", '["namespaces","__proto__",{}]', "namespaces.__proto__", "is not a valid key"],
];

describe("changes that are not valid", () => {
  test.each(badChanges)("%s: the error names line, entry and field", (_, line, path, message) => {
    const text = sealed(HEADER, '["namespaces","shop",{}]', line);
    const { issues, total } = issuesOf(text);
    expect(issues).toEqual([{ path, line: 3, message: expect.stringContaining(message) }]);
    expect(total).toBe(1);
  });

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
