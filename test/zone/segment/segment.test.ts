import { describe, expect, it } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import { Pace } from "../../../src/zone/pace.ts";
import { joinBlocks } from "../../../src/zone/segment/blocks/join-blocks.ts";
import { HEAP_START, KEEP_ORDER, NodeFlag } from "../../../src/zone/segment/layout.ts";
import { apexHash, hashLabel, treeHash } from "../../../src/zone/segment/name-hash.ts";
import { RecordSets } from "../../../src/zone/segment/record-sets.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import { SegmentBuilder } from "../../../src/zone/segment/segment-builder.ts";

const TREES = ["clusterset", "local:a"];
const ascii = (text: string) => Array.from(text, (character) => character.charCodeAt(0));
/** A name on the wire, without the root label. */
const wire = (name: string) =>
  Uint8Array.from(name.split(".").flatMap((label) => [label.length, ...ascii(label)]));

function hashOf(segment: Segment, tree: string, name: string): number {
  let hash = apexHash(treeHash(tree), segment.seed);
  for (const label of name.split(".").reverse())
    hash = hashLabel(hash, Uint8Array.from(ascii(label)), 0, label.length);
  return hash;
}

/** The node of a name that is looked for by the hash of another one, as if their hashes were equal. */
function findAs(segment: Segment, tree: string, name: string, hash: number): number {
  // Bytes of another message around it are not of the name.
  const bytes = Uint8Array.from([3, ...wire(name), 1, 97]);
  return segment.findNode(TREES.indexOf(tree), bytes, 1, bytes.length - 2, hash);
}
function address(last: number, ttl = 5, leaseGroup = 0): RecordSets {
  const sets = new RecordSets();
  sets.addAddress(Uint8Array.of(10, 0, 0, last), ttl, leaseGroup);
  return sets;
}

function ports(...targets: readonly number[]): RecordSets {
  const sets = new RecordSets();
  for (const target of targets) sets.addService(443, target, 5, 0);
  return sets;
}

function build(fill: (builder: SegmentBuilder) => void, withApexes = false) {
  const builder = new SegmentBuilder(TREES);
  fill(builder);
  const block = drain(builder.block(new Pace(), withApexes));
  return { block, segment: Segment.load(drain(joinBlocks([block], new Pace(), TREES)).bytes, "hash") };
}

/** Names in both trees. The port of the first one has a target for all views, two others for west and another one for east. */
function twoTrees() {
  return build((builder) => {
    const { nodes, tables } = builder;
    const web = nodes.child(0, "Web.shop.svc");
    nodes.addFlags(web, NodeFlag.everywhere);
    const tcp = nodes.child(web, "_tcp");
    const port = nodes.child(tcp, "_http");
    const own = nodes.child(1, "web.shop.svc");
    const [east, west] = [tables.view("east"), tables.view("west")];
    const ofEast = address(2, 7 | KEEP_ORDER, tables.leaseGroup(["east"]));
    builder.setRecords(web, address(1), new Map([[east, ofEast]]));
    const variants = [[west, ports(tcp, web)] as const, [east, ports(port)] as const];
    builder.setRecords(port, ports(web), new Map(variants));
    builder.setRecords(own, address(3, 0x01020304, tables.leaseGroup(["west"])));
  }).segment;
}

describe("a segment with two trees and two views", () => {
  it.each([
    "wec.shop.svc",
    "web.shop.svd",
    "web.shop",
    "a.web.shop.svc",
    "web.shop.svc.a",
    "_tcp.wec.shop.svc",
    "_tcq.web.shop.svc",
    "tcp.web.shop.svc",
    "_tcp.web.shop.svc.a",
  ])("does not take %s for a name with its hash", (name) => {
    const segment = twoTrees();
    for (const own of ["web.shop.svc", "_tcp.web.shop.svc"])
      expect(findAs(segment, "clusterset", name, hashOf(segment, "clusterset", own))).toBe(-1);
  });

  it("does not take a name of another tree for one with its hash", () => {
    const segment = twoTrees();
    const hash = hashOf(segment, "clusterset", "web.shop.svc");
    expect(findAs(segment, "local:a", "web.shop.svc", hash)).toBe(-1);
    expect(findAs(segment, "clusterset", "web.shop.svc", hash)).toBe(HEAP_START);
  });
});
