import { describe, expect, it } from "vitest";
import { RecordType } from "../../../src/dns/codes.ts";
import {
  blockEnd,
  countEnd,
  findSet,
  fixedDataBytes,
  listEnd,
  listForView,
  read16,
  read32,
  readCount,
  recordCount,
  recordsOf,
  setEnd,
  targetOf,
  write16,
  write32,
} from "../../../src/zone/segment/record-block.ts";

const A_SET = [1, 0, 0, 2, 10, 0, 0, 1, 10, 0, 0, 2];
const AAAA_SET = [28, 0, 0, 1, ...new Array(16).fill(7)];
const SRV_SET = [33, 0, 0, 1, 0, 80, 0xff, 0xff, 0xff, 0xf0];
const TXT_SET = [16, 0, 0, 2, 0, 2, 1, 97, 1, 1, ...new Array(257).fill(3)];
const MARK = [0, 0, 0, 0];
/** In front of what is read: nothing is at 0. */
const FRONT = [9, 9, 9];
const AT = FRONT.length;
const heapOf = (...parts: readonly (readonly number[])[]) => Uint8Array.from([...FRONT, ...parts.flat(), 9]);

describe("numbers in a heap", () => {
  it("are big-endian", () => {
    const bytes = Uint8Array.of(0, 0x81, 0x82, 0x83, 0x84, 0);
    expect([read16(bytes, 1), read32(bytes, 1)]).toEqual([0x8182, 0x81828384]);
    const into = new Uint8Array(8);
    write16(into, 1, 0x8182);
    write32(into, 4, 0x83848586);
    expect([...into]).toEqual([0, 0x81, 0x82, 0, 0x83, 0x84, 0x85, 0x86]);
  });

  it.each([
    [[254], 254, 1],
    [[255, 0, 255], 255, 3],
    [[255, 1, 2], 258, 3],
  ])("are counts of one byte or three: %j", (count, expected, length) => {
    const heap = heapOf(count);
    expect([readCount(heap, AT), countEnd(heap, AT) - AT]).toEqual([expected, length]);
  });
});

describe("sets of records in a heap", () => {
  it("have records of one length if their type does", () => {
    const types = [RecordType.A, RecordType.AAAA, RecordType.SRV, RecordType.TXT, RecordType.PTR];
    expect(types.map(fixedDataBytes)).toEqual([4, 16, 6, 0, 0]);
  });

  it.each([
    ["addresses", A_SET, 2, 4],
    ["an IPv6 address", AAAA_SET, 1, 4],
    ["a long count", [1, 0, 0, 255, 0, 2, ...A_SET.slice(4)], 2, 6],
    ["RDATA of their own lengths", TXT_SET, 2, 4],
    ["no records", MARK, 0, 4],
  ])("end after their last record: %s", (_, set, count, first) => {
    const heap = heapOf(set);
    expect([setEnd(heap, AT), recordCount(heap, AT), recordsOf(heap, AT)]).toEqual([
      AT + set.length,
      count,
      AT + first,
    ]);
  });

  it("are found by their type in a list, which ends after the last one", () => {
    const heap = heapOf([4], A_SET, TXT_SET, SRV_SET, MARK, A_SET);
    const [a, txt] = [AT + 1, AT + 1 + A_SET.length];
    const srv = txt + TXT_SET.length;
    const mark = srv + SRV_SET.length;
    expect([1, 16, 33, 0].map((type) => findSet(heap, AT, type))).toEqual([a, txt, srv, mark]);
    expect(findSet(heap, AT, RecordType.AAAA)).toBe(0);
    expect(listEnd(heap, AT)).toBe(mark + MARK.length);
    // What comes behind the list is not of it.
    expect(findSet(heapOf([1], MARK, A_SET), AT, 1)).toBe(0);
    expect([findSet(heapOf([0], A_SET), AT, 1), listEnd(heapOf([0], A_SET), AT)]).toEqual([0, AT + 1]);
  });

  it("have targets in front of SRV records, or behind them", () => {
    const heap = heapOf(SRV_SET, [0, 80, 0, 0, 0, 6]);
    expect(targetOf(heap, AT + 4)).toBe(AT + 4 - 16);
    expect(targetOf(heap, AT + SRV_SET.length)).toBe(AT + SRV_SET.length + 6);
  });
});

describe("a record block with variants", () => {
  const list = [1, ...A_SET];
  const other = [2, ...MARK, ...SRV_SET];

  it.each([
    ["few", [2, 0, 7, ...other, 1, 0, ...list], AT + list.length + 3, 7],
    ["a long count of", [255, 0, 2, 0, 7, ...other, 1, 0, ...list], AT + list.length + 5, 7],
  ])("has the list of a view with one of its own: %s variants", (_, variants, first, view) => {
    const heap = heapOf(list, variants);
    expect([listForView(heap, AT, view), listForView(heap, AT, 256)]).toEqual([
      first,
      first + other.length + 2,
    ]);
    expect([listForView(heap, AT, 1), listForView(heap, AT, 0)]).toEqual([AT, AT]);
    expect([blockEnd(heap, AT, true), blockEnd(heap, AT, false)]).toEqual([
      AT + list.length + variants.length,
      AT + list.length,
    ]);
  });
});
