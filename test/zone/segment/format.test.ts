import { describe, expect, it } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import { Pace } from "../../../src/zone/pace.ts";
import { joinBlocks } from "../../../src/zone/segment/blocks/join-blocks.ts";
import type { KeyBlock } from "../../../src/zone/segment/blocks/key-block.ts";
import { HEAP_START, NodeFlag, SegmentHeader } from "../../../src/zone/segment/layout.ts";
import { apexHash, hashLabel, treeHash } from "../../../src/zone/segment/name-hash.ts";
import { RecordSets } from "../../../src/zone/segment/record-sets.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import { SegmentBuilder } from "../../../src/zone/segment/segment-builder.ts";
import { slotBytes } from "../../../src/zone/segment/slots.ts";

const ascii = (text: string) => Array.from(text, (character) => character.charCodeAt(0));
const join = (blocks: readonly KeyBlock[], trees?: readonly string[]) =>
  drain(joinBlocks(blocks, new Pace(), trees));
const heapOf = ({ source, start, end }: KeyBlock) => [...source.bytes.subarray(start, end)];

/** One address in a set. */
function address(last: number, ttl = 5, leaseGroup = 0): RecordSets {
  const sets = new RecordSets();
  sets.addAddress(Uint8Array.of(10, 0, 0, last), ttl, leaseGroup);
  return sets;
}

/** `web.shop.svc` with an address and a variant, and a port below it whose target it is. */
function webBlock(trees = ["clusterset", "local:a"], view = "east", clusters = ["east"]): KeyBlock {
  const builder = new SegmentBuilder(trees);
  const { nodes, tables } = builder;
  const web = nodes.child(tables.tree("clusterset"), "Web.shop.svc");
  nodes.addFlags(web, NodeFlag.everywhere);
  const port = nodes.child(nodes.child(web, "_tcp"), "_http");
  const services = new RecordSets();
  services.addService(443, web, 5, 0);
  const own = address(2, 7, tables.leaseGroup(clusters));
  builder.setRecords(web, address(1), new Map([[tables.view(view), own]]));
  builder.setRecords(port, services);
  return drain(builder.block(new Pace()));
}

/** The names of `webBlock`, with the indices of its own tables. */
const WEB_HEAP = [
  ...[0x10 | 0x08 | 0x04, 0, 0],
  ...[13, 3, ...ascii("Web"), 4, ...ascii("shop"), 3, ...ascii("svc")],
  ...[1, 1, 0, 0, 1, 10, 0, 0, 1],
  ...[1, 0, 0, 1, 1, 0, 1, 1, 10, 0, 0, 2],
  ...[0x01, 38, 5, 4, ...ascii("_tcp")],
  ...[0x04 | 0x01, 8, 6, 5, ...ascii("_http")],
  // The record is 60 bytes behind the start of its target.
  ...[1, 33, 0, 0, 1, 1, 187, 0xff, 0xff, 0xff, 0xc4],
];

describe("the names of a key", () => {
  it("have the bytes of the format", () => {
    const block = webBlock();
    expect(heapOf(block)).toEqual(WEB_HEAP);
    const { trees, views, leaseGroups, terms } = block.source;
    expect({ trees, views, leaseGroups, terms }).toEqual({
      ...{ trees: ["clusterset", "local:a"], views: ["east"], leaseGroups: [[], ["east"]] },
      terms: [
        { ttl: 5, leaseGroup: 0 },
        { ttl: 7, leaseGroup: 1 },
      ],
    });
  });

  it("have a parent's distance in as few bytes as it needs", () => {
    const distances = [200, 300, 70_000].map((bytes) => {
      const builder = new SegmentBuilder(["clusterset"]);
      const parent = builder.nodes.child(0, "parent");
      const sets = new RecordSets();
      for (let left = bytes; left > 0; left -= 50_000)
        sets.addRdata(16, new Uint8Array(Math.min(left, 50_000)).fill(left), 5, 0);
      builder.setRecords(parent, sets);
      builder.nodes.child(parent, "child");
      const { bytes: joined } = join([drain(builder.block(new Pace()))]);
      const segment = Segment.load(joined, "");
      const [first, second] = segment.nodes();
      expect(segment.parentOf(second!)).toBe(first);
      return [joined[second!]! & 3, segment.runOf(second!) - second!];
    });
    expect(distances).toEqual([
      [1, 2],
      [2, 3],
      [3, 5],
    ]);
  });

  it("have the variants of one name by the names of their views, whatever their order", () => {
    const build = (order: readonly string[]) => {
      const builder = new SegmentBuilder(["clusterset"]);
      const node = builder.nodes.child(0, "web");
      const variants = order.map((view) => [builder.tables.view(view), address(view.length)] as const);
      builder.setRecords(node, new RecordSets(), new Map(variants));
      return join([drain(builder.block(new Pace()))]);
    };
    const { bytes, tables } = build(["west-2", "east", "a"]);
    expect(build(["a", "west-2", "east"]).bytes).toEqual(bytes);
    expect(tables.views).toEqual(["a", "east", "west-2"]);
  });
});

describe("names of several keys that are joined", () => {
  const apart = { start: HEAP_START, end: HEAP_START + WEB_HEAP.length };

  it("have the indices of common tables, sorted trees, and their places", () => {
    const first = webBlock(["local:a", "clusterset"]);
    const second = webBlock(["clusterset"], "west", ["west", "east", "west"]);
    const { bytes, tables, ranges } = join([first, second, webBlock()]);
    const length = WEB_HEAP.length;
    expect(tables).toEqual({
      ...{ trees: ["clusterset"], views: ["east", "west"] },
      leaseGroups: [[], ["east"], ["east", "west"]],
    });
    expect(ranges).toEqual([0, 1, 2].map((at) => ({ start: 44 + at * length, end: 44 + (at + 1) * length })));
    const expected = WEB_HEAP.slice();
    // The view of the variant, and its terms.
    expected[28] = 1;
    expected[32] = 2;
    const heap = [...bytes.subarray(HEAP_START, HEAP_START + 3 * length)];
    expect([heap.slice(0, length), heap.slice(length, 2 * length), heap.slice(2 * length)]).toEqual([
      ...[WEB_HEAP, expected, WEB_HEAP],
    ]);
    const segment = Segment.load(bytes, "");
    expect(segment.source().terms).toEqual([
      { ttl: 5, leaseGroup: 0 },
      { ttl: 7, leaseGroup: 1 },
      { ttl: 7, leaseGroup: 2 },
    ]);
  });

  it("have trees in the order that is given", () => {
    const { bytes, tables } = join([webBlock()], ["local:a", "clusterset"]);
    expect(tables.trees).toEqual(["local:a", "clusterset"]);
    expect(Segment.load(bytes, "").treeAbove(HEAP_START)).toBe(1);
  });

  it("are the same whether a block was built or is copied from a segment", () => {
    const joined = join([webBlock()]);
    const source = Segment.load(joined.bytes, "").source();
    expect(joined.ranges).toEqual([apart]);
    expect(join([{ source, ...joined.ranges[0]! }]).bytes).toEqual(joined.bytes);
    expect(Segment.trusted(joined.bytes, "").source()).toEqual(source);
    expect(Segment.compiled(joined.bytes, "", joined.tables).source()).toEqual(source);
  });

  it("are found in a heap of 64 KB and more, whose slots have 4 bytes", () => {
    for (const bytes of [60_000, 65_400, 66_000]) {
      const builder = new SegmentBuilder(["clusterset"]);
      const sets = new RecordSets();
      sets.addRdata(16, new Uint8Array(60_000), 5, 0);
      sets.addRdata(17, new Uint8Array(bytes - 60_000), 5, 0);
      builder.setRecords(builder.nodes.child(0, "long"), sets);
      builder.nodes.child(0, "web");
      const segment = Segment.load(join([drain(builder.block(new Pace()))]).bytes, "");
      const found = ["long", "web", "absent"].map((label) => {
        const name = Uint8Array.of(label.length, ...ascii(label));
        const start = apexHash(treeHash("clusterset"), segment.seed);
        return segment.findNode(0, name, 0, name.length, hashLabel(start, name, 1, label.length));
      });
      expect(found).toEqual([...segment.nodes(), -1]);
      const words = new Uint32Array(segment.bytes.buffer);
      const heapEnd = words[SegmentHeader.heapEnd]!;
      expect(slotBytes(heapEnd)).toBe(bytes < 65_500 ? 3 : 4);
    }
  });
});
