import { describe, expect, it } from "vitest";
import { readName, readRecord, readWord } from "../../src/dns/wire-reader.ts";

const skip = (bytes: readonly number[], start = 0) => readName(Uint8Array.from(bytes), start);
const HEADER = new Array<number>(12).fill(0);
const label = (length: number) => [length, ...new Array<number>(length).fill(97)];

describe("the end of a name (RFC 1035 section 4.1.4)", () => {
  it.each<[string, readonly number[], number, number]>([
    ["the root", [0], 0, 1],
    ["labels", [1, 97, 2, 98, 99, 0, 7], 0, 6],
    ["labels after other bytes", [9, 9, 1, 97, 0], 2, 5],
    ["a pointer backwards", [...HEADER, 1, 97, 0, 0xc0, 12], 15, 17],
    ["labels and a pointer backwards", [...HEADER, 1, 97, 0, 1, 98, 0xc0, 12, 9], 15, 19],
    ["a label of 63 bytes", [...label(63), 0], 0, 65],
    ["255 bytes", [...label(63), ...label(63), ...label(63), ...label(61), 0], 0, 255],
    [
      "255 bytes after other bytes",
      [9, 9, ...label(63), ...label(63), ...label(63), ...label(61), 0],
      2,
      257,
    ],
  ])("is found for %s", (_, bytes, start, end) => {
    expect(skip(bytes, start)).toBe(end);
  });

  it.each<[string, readonly number[], number]>([
    ["nothing", [], 0],
    ["a start behind the message", [0], 1],
    ["a name that is cut off in a label", [3, 97], 0],
    ["a name that is cut off between labels", [1, 97], 0],
    ["half a pointer", [...HEADER, 1, 97, 0, 0xc0], 15],
    ["a pointer into the header", [...HEADER, 1, 97, 0, 0xc0, 11], 15],
    ["a pointer to itself", [...HEADER, 0xc0, 12], 12],
    ["a pointer into its own name", [...HEADER, 0, 1, 97, 0xc0, 13], 13],
    ["a pointer forwards", [0xc0, 2, 0], 0],
    ["a high pointer forwards", [0, 0xff, 0xff], 1],
    ["a label of an unknown type", [64, ...new Array(64).fill(97), 0], 0],
    ["256 bytes", [...label(63), ...label(63), ...label(63), ...label(62), 0], 0],
  ])("is not found for %s", (_, bytes, start) => {
    expect(skip(bytes, start)).toBe(-1);
  });
});

describe("a record (RFC 1035 section 4.1.3)", () => {
  const record = [0, 0x01, 0x02, 0x80, 0x01, 0xfe, 0xdc, 0xba, 0x98, 0, 2, 7, 8];

  it("has every field at its offset", () => {
    expect(readRecord(Uint8Array.from([9, ...record, 9]), 1)).toEqual({
      start: 1,
      type: 0x0102,
      class: 0x8001,
      ttl: 0xfedcba98,
      dataStart: 12,
      end: 14,
    });
    expect(readWord(Uint8Array.of(1, 0x80, 0xff), 1)).toBe(0x80ff);
  });

  it("may end with the message and have no data", () => {
    expect(readRecord(Uint8Array.from(record), 0)).toMatchObject({ end: 13 });
    const empty = [...record.slice(0, 9), 0, 0];
    expect(readRecord(Uint8Array.from(empty), 0)).toMatchObject({ dataStart: 11, end: 11 });
  });

  it("is undefined if its name is malformed", () => {
    expect(readRecord(Uint8Array.from([64, ...new Array<number>(40).fill(0)]), 0)).toBeUndefined();
  });

  it("is undefined if any part of it is cut off", () => {
    for (let length = 0; length < record.length; length++)
      expect(readRecord(Uint8Array.from(record.slice(0, length)), 0)).toBeUndefined();
  });
});
