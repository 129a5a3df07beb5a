import { expect, test } from "vitest";
import { HeapWriter } from "../../src/zone/segment/heap-writer.ts";
import { HEAP_START, SET_HEADER_BYTES, SetField } from "../../src/zone/segment/layout.ts";
import { read16 } from "../../src/zone/segment/record-block.ts";
import { RecordSets } from "../../src/zone/segment/record-sets.ts";

const address = (index: number) => Uint8Array.of(10, 0, index >> 8, index & 255);

test("sets of any size drop duplicates and keep the order of records (RFC 2181 section 5)", () => {
  for (const size of [1, 31, 32, 33, 300]) {
    const sets = new RecordSets();
    for (let round = 0; round < 2; round++)
      for (let index = 0; index < size; index++) sets.addAddress(address(index), 0, 0);
    const heap = new HeapWriter();
    sets.write(heap);
    const written = heap.bytes.subarray(HEAP_START);
    const set = 1;
    expect([written[0], read16(written, set), read16(written, set + SetField.count)]).toEqual([1, 1, size]);
    const data = [...written.subarray(set + SET_HEADER_BYTES)];
    expect(data).toEqual(Array.from({ length: size }, (_, index) => [...address(index)]).flat());
  }
});
