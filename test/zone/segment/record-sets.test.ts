import { expect, test } from "vitest";
import { HeapWriter } from "../../../src/zone/segment/heap-writer.ts";
import { HEAP_START } from "../../../src/zone/segment/layout.ts";
import { recordCount, recordsOf } from "../../../src/zone/segment/record-block.ts";
import { RecordSets } from "../../../src/zone/segment/record-sets.ts";
import { TableBuilder } from "../../../src/zone/segment/table-builder.ts";

const address = (index: number) => Uint8Array.of(10, 0, index >> 8, index & 255);

test("sets of any size drop duplicates and keep the order of records (RFC 2181 section 5)", () => {
  for (const size of [1, 31, 32, 33, 300]) {
    const sets = new RecordSets();
    for (let round = 0; round < 2; round++)
      for (let index = 0; index < size; index++) sets.addAddress(address(index), 0, 0);
    const heap = new HeapWriter();
    sets.write(heap, new TableBuilder([]));
    const written = heap.bytes.subarray(HEAP_START);
    const set = 1;
    expect([written[0], written[set], recordCount(written, set)]).toEqual([1, 1, size]);
    const data = [...written.subarray(recordsOf(written, set))];
    expect(data).toEqual(Array.from({ length: size }, (_, index) => [...address(index)]).flat());
  }
});
