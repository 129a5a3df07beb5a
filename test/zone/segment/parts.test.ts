import { describe, expect, it } from "vitest";
import { CapacityError } from "../../../src/zone/segment/blob.ts";
import { hashBlob, hashInSteps, writeHash } from "../../../src/zone/segment/hash.ts";
import { HeapWriter } from "../../../src/zone/segment/heap-writer.ts";
import { HEAP_START, KEEP_ORDER } from "../../../src/zone/segment/layout.ts";
import { RecordSets } from "../../../src/zone/segment/record-sets.ts";
import { firstSlot, offsetBits, SlotBuilder, slotBytes, slotCount } from "../../../src/zone/segment/slots.ts";
import { intern, TableBuilder } from "../../../src/zone/segment/table-builder.ts";

const ascii = (text: string) => Array.from(text, (character) => character.charCodeAt(0));

/** One address in a set. */
function address(last: number, ttl = 5, leaseGroup = 0): RecordSets {
  const sets = new RecordSets();
  sets.addAddress(Uint8Array.of(10, 0, 0, last), ttl, leaseGroup);
  return sets;
}

describe("sets of records", () => {
  const written = (sets: RecordSets) => {
    const heap = new HeapWriter();
    sets.write(heap, new TableBuilder([]));
    return [...heap.bytes.subarray(HEAP_START)];
  };

  it("of every type have the bytes of the format", () => {
    const sets = new RecordSets();
    expect(sets.isEmpty).toBe(true);
    sets.addAddress(Uint8Array.of(10, 0, 0, 1), 5, 0);
    sets.addAddress(new Uint8Array(16).fill(7), 5, 1);
    sets.addService(443, 0x01020304, 5, 0);
    sets.addRdata(16, Uint8Array.of(1, 97), 9, 0);
    sets.addMarker(0, 9, 0);
    expect(sets.isEmpty).toBe(false);
    expect(written(sets)).toEqual([
      ...[5, 1, 0, 0, 1, 10, 0, 0, 1],
      ...[28, 0, 1, 1, ...new Array(16).fill(7)],
      ...[33, 0, 0, 1, 1, 187, 1, 2, 3, 4],
      ...[16, 0, 2, 1, 0, 2, 1, 97],
      ...[0, 0, 2, 0],
    ]);
  });

  it("that are added to others have each record once, and the terms of the first", () => {
    const sets = address(1);
    const other = address(1, 9);
    other.addAddress(Uint8Array.of(10, 0, 0, 2), 9, 0);
    other.addRdata(16, Uint8Array.of(1, 97), 9, 0);
    other.addRdata(16, Uint8Array.of(2, 97, 98), 9, 0);
    other.addRdata(16, Uint8Array.of(1, 97), 9, 0);
    sets.addAll(other);
    sets.addAll(other);
    expect(written(sets)).toEqual([
      ...[2, 1, 0, 0, 2, 10, 0, 0, 1, 10, 0, 0, 2],
      ...[16, 0, 1, 2, 0, 2, 1, 97, 0, 3, 2, 97, 98],
    ]);
    sets.addRdata(16, Uint8Array.of(1, 99), 9, 0);
    expect(written(other)[5 + 8]).toBe(16);
    expect(written(other)[5 + 8 + 3]).toBe(2);
  });
});

describe("bytes that grow", () => {
  it("have what was written, in order, however little room there was at first", () => {
    const heap = new HeapWriter(1);
    const long = Uint8Array.from({ length: 300 }, (_, index) => index);
    heap.write8(1);
    heap.write16(0x0203);
    heap.write32(0x04050607);
    heap.writeBytes([8, 9]);
    heap.writeRange(long, 10, 13);
    heap.writeRange(long, 0, 300);
    heap.writeLabel("ab");
    heap.writeAscii("c");
    heap.writeCount(254);
    heap.writeCount(255);
    heap.put16(HEAP_START, 0x0b0c);
    heap.put32(HEAP_START + 3, 0x0d0e0f10);
    const { bytes, length, buffer } = heap;
    expect([...bytes.subarray(HEAP_START)]).toEqual([
      ...[11, 12, 3, 13, 14, 15, 16, 8, 9, 10, 11, 12, ...long],
      ...[2, 97, 98, 99, 254, 255, 0, 255],
    ]);
    expect([length, buffer.length >= length]).toEqual([bytes.length, true]);
  });
});

describe("the tables of a segment", () => {
  it("give each value an index when it is used first", () => {
    const tables = new TableBuilder(["clusterset", "local:a"]);
    expect([tables.tree("local:a"), tables.tree("local:b")]).toEqual([1, -1]);
    expect(["b", "a", "b"].map((view) => tables.view(view))).toEqual([0, 1, 0]);
    const groups = [[], ["b"], ["b", "a"], ["a", "b", "a"], ["b", "b"], ["a"]];
    expect(groups.map((group) => tables.leaseGroup(group))).toEqual([0, 1, 2, 2, 1, 3]);
    expect([
      tables.terms(5, 0),
      tables.terms(5 | KEEP_ORDER, 0),
      tables.terms(5, 1),
      tables.terms(5, 0),
    ]).toEqual([...[0, 1, 2, 0]]);
    expect(tables.termsList).toEqual([
      { ttl: 5, leaseGroup: 0 },
      { ttl: 0x8000_0005, leaseGroup: 0 },
      { ttl: 5, leaseGroup: 1 },
    ]);
    expect(tables.finish()).toEqual({
      ...{ trees: ["clusterset", "local:a"], views: ["b", "a"], leaseGroups: [[], ["b"], ["a", "b"], ["a"]] },
    });
  });

  it("hold 65,535 values", () => {
    const table = new Map(Array.from({ length: 0xfffe }, (_, index) => [index, index] as const));
    expect(intern(table, 0xfffe, "views")).toBe(0xfffe);
    expect(intern(table, 7, "views")).toBe(7);
    expect(() => intern(table, 0xffff, "views")).toThrow(
      new CapacityError("a segment holds at most 65535 views; 65535 is one more"),
    );
  });
});

describe("slots", () => {
  it("have as many bytes and bits as offsets need", () => {
    expect([44, 0xffff, 0x10000, 0x3fffffff].map((end) => [slotBytes(end), offsetBits(end)])).toEqual([
      ...[
        [3, 6],
        [3, 16],
        [4, 17],
        [4, 30],
      ],
    ]);
    expect([0, 1, 2, 3, 10].map(slotCount)).toEqual([1, 2, 4, 5, 16]);
    expect([0, -1, 0x7fffffff].map((hash) => firstSlot(hash, 10))).toEqual([0, 9, 4]);
    expect(() => new SlotBuilder(1, 0x40000000)).toThrow(CapacityError);
  });

  it("are taken from the first one of a hash on, around the end", () => {
    const slots = new SlotBuilder(3, 0x2ff);
    expect([slots.take(-1, 0x100), slots.take(-1, 0x200), slots.take(0x05, 0x2f0)]).toEqual([
      true,
      true,
      true,
    ]);
    const taken = Array.from({ length: slots.count }, (_, slot) => [
      ...slots.bytes.subarray(slot * 3, slot * 3 + 3),
    ]);
    expect(taken).toEqual([
      ...[
        [0x00, 0xfe, 0xff],
        [0xf0, 0x16, 0x00],
      ],
      ...[
        [0, 0, 0],
        [0, 0, 0],
        [0x00, 0xfd, 0xff],
      ],
    ]);
  });
});

describe("the hash of a blob", () => {
  it("is 128 bits of its SHA-256, in one step or several (FIPS 180-4)", () => {
    expect(hashBlob(Uint8Array.from(ascii("abc")))).toBe("ba7816bf8f01cfea414140de5dae2223");
    for (const length of [1 << 17, (1 << 17) + 1, 300_000]) {
      const bytes = Uint8Array.from({ length }, (_, index) => index * 31);
      const steps = hashInSteps(bytes);
      let turns = 0;
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) turns++;
      expect(step.value).toBe(hashBlob(bytes));
      expect(turns).toBe(length === 1 << 17 ? 0 : Math.ceil(length / (1 << 17)));
    }
    const into = new Uint8Array(18);
    writeHash(into, 1, "0123456789abcdeffedcba9876543210");
    expect(Buffer.from(into).toString("hex")).toBe("000123456789abcdeffedcba987654321000");
  });
});
