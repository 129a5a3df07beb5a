import { expect, test } from "vitest";
import { HeapWriter } from "../../src/zone/image/heap-writer.ts";
import { RecordSets } from "../../src/zone/record-sets.ts";
import { ReverseTable } from "../../src/zone/reverse/reverse-table.ts";

const address = (index: number) => Uint8Array.of(10, 0, index >> 8, index & 255);

test("sets of any size drop duplicates and keep the order of records (RFC 2181 section 5)", () => {
  for (const size of [1, 31, 32, 33, 300]) {
    const sets = new RecordSets();
    for (let round = 0; round < 2; round++)
      for (let index = 0; index < size; index++) sets.addAddress(address(index), 0, 0);
    const heap = new HeapWriter();
    sets.write(heap);
    const [, count, type, , , , , high, low, ...data] = heap.bytes;
    expect([count, type, (high! << 8) | low!]).toEqual([1, 0, size]);
    expect(data).toEqual(Array.from({ length: size }, (_, index) => [...address(index)]).flat());
  }
});

test("an address keeps its first target in each view, for any number of addresses", () => {
  const table = new ReverseTable();
  const addresses = Array.from({ length: 3000 }, (_, index) => address(index));
  for (const node of [1, 2])
    for (const octets of addresses)
      for (const asker of [0, 7]) table.add(octets, { asker, ttl: 0, leaseGroup: 0, node });
  const heap = new HeapWriter();
  const slots = table.write(heap).filter((at) => at !== 0);
  expect(slots).toHaveLength(addresses.length);
  for (const at of slots) {
    const [length, , , , , targets, ...rest] = heap.bytes.subarray(at, at + 24);
    expect([length, targets]).toEqual([4, 2]);
    expect(rest).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 1]);
  }
});
