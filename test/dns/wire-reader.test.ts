import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  foldName,
  formatName,
  nameKey,
  optionEnd,
  parseName,
  readFoldedName,
  readName,
  readRecord,
} from "../../src/dns/name.ts";

const HEADER = new Array<number>(12).fill(0);
const message = (...bytes: number[]) => Uint8Array.from([...HEADER, ...bytes]);
const folded = (text: string) => readFoldedName(parseName(text), 0)!;

/** Bytes in which names, pointers and ends are frequent. */
const wild = fc.array(
  fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 2, 63, 64, 0xc0, 0xff), fc.integer({ min: 10, max: 40 })),
  { maxLength: 60 },
);

describe("readName (RFC 1035 section 4.1.4)", () => {
  it.each<[string, number[], number, number, string]>([
    ["without pointers", [1, 97, 2, 98, 66, 0, 9], 12, 18, "a.bB."],
    ["the root", [0], 12, 13, "."],
    ["a lone pointer", [1, 97, 0, 0xc0, 12], 15, 17, "a."],
    ["labels before a pointer", [1, 97, 0, 1, 98, 0xc0, 12], 15, 19, "b.a."],
    ["pointers to pointers", [1, 97, 0, 1, 98, 0xc0, 12, 1, 99, 0xc0, 15], 19, 23, "c.b.a."],
  ])("reads %s", (_, bytes, start, end, text) => {
    const into = new Uint8Array(255);
    expect(readName(message(...bytes), start, into)).toBe(end);
    expect(formatName(into)).toBe(text);
    expect(readName(message(...bytes), start)).toBe(end);
  });

  it.each<[string, number[], number]>([
    ["a pointer forwards", [0xc0, 14, 0], 12],
    ["a pointer to itself", [0xc0, 12], 12],
    ["a pointer into the name itself", [1, 97, 0xc0, 12], 12],
    ["a pointer into the header", [0xc0, 0], 12],
    ["pointers that do not each point further back", [1, 97, 0xc0, 16, 0xc0, 12], 16],
    ["half a pointer", [1, 97, 0, 0xc0], 15],
    ["a pointer to a malformed name", [0x41, 0, 0xc0, 12], 14],
    ["a withdrawn label type", [0x41, 0], 12],
    ["a cut label", [3, 97], 12],
    ["no end", [1, 97], 12],
    ["a start behind the message", [0], 13],
  ])("rejects %s", (_, bytes, start) => {
    expect(readName(message(...bytes), start)).toBe(-1);
    expect(readName(message(...bytes), start, new Uint8Array(255))).toBe(-1);
  });

  it("accepts at most 255 bytes, with and without pointers", () => {
    const label = (length: number) => [length, ...new Array<number>(length).fill(97)];
    const most = [...label(63), ...label(63), ...label(63), ...label(61), 0];
    expect(readName(message(...most), 12)).toBe(12 + 255);
    const more = [...label(63), ...label(63), ...label(63), ...label(62), 0];
    expect(readName(message(...more), 12)).toBe(-1);
    const behind = [...label(61), 0, ...label(63), ...label(63), ...label(63), 0xc0, 12];
    expect(readName(message(...behind), 12 + 63)).toBe(12 + behind.length);
    const longer = [...label(62), 0, ...label(63), ...label(63), ...label(63), 0xc0, 12];
    expect(readName(message(...longer), 12 + 64)).toBe(-1);
  });

  it("ends, stays inside the message, and writes at most 255 bytes for random bytes", () => {
    fc.assert(
      fc.property(wild, fc.nat(70), (given, start) => {
        const into = new Uint8Array(300).fill(0xee);
        const bytes = message(...given);
        const end = readName(bytes, start, into);
        expect(end === -1 || (end > start && end <= bytes.length)).toBe(true);
        expect(into.subarray(255).every((byte) => byte === 0xee)).toBe(true);
        if (end >= 0) expect(readName(into, 0)).toBeLessThanOrEqual(255);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("readFoldedName", () => {
  it("reads exactly the names that readName reads without a pointer, with letters folded", () => {
    fc.assert(
      fc.property(wild, (given) => {
        const bytes = message(...given);
        const into = new Uint8Array(255);
        const end = readName(bytes, 12, into);
        const name = readFoldedName(bytes, 12);
        // At the first name of a message every pointer is malformed.
        expect(name !== undefined).toBe(end >= 0);
        if (name === undefined) return;
        expect(12 + name.length).toBe(end);
        expect(name.bytes.subarray(0, name.length)).toEqual(foldName(into.subarray(0, name.length)));
      }),
      { numRuns: 2000 },
    );
  });

  it("returns a value that neither the message nor another name changes", () => {
    const bytes = Uint8Array.from(parseName("web.shop.example"));
    const name = readFoldedName(bytes, 0)!;
    bytes.fill(1);
    for (let count = 0; count < 5000; count++) folded(`other-${count}.example`);
    expect(nameKey(name)).toBe("\x03web\x04shop\x07example\0");
  });
});

describe("records and options", () => {
  it("rejects a record whose owner's pointer points forwards", () => {
    const record = [0xc0, 30, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 192, 0, 2, 1];
    expect(readRecord(message(...record, 0, 0, 0, 0), 12)).toBeUndefined();
    const behind = readRecord(message(0, 0xc0, 12, ...record.slice(2)), 13);
    expect(behind).toMatchObject({ start: 13, type: 1, class: 1, ttl: 5, dataStart: 25, end: 29 });
  });

  it("accepts only whole options (RFC 6891 section 6.1.2)", () => {
    const options = Uint8Array.of(0, 10, 0, 1, 7, 0, 12, 0, 2, 0, 0);
    expect(optionEnd(options, 0, 11)).toBe(5);
    expect(optionEnd(options, 5, 11)).toBe(11);
    expect([optionEnd(options, 5, 10), optionEnd(options, 5, 8), optionEnd(options, 11, 11)]).toEqual([
      -1, -1, -1,
    ]);
  });
});
