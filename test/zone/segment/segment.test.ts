import { describe, expect, it } from "vitest";
import { RecordType } from "../../../src/dns/codes.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { Pace, UNITS_IN_STEP } from "../../../src/zone/pace.ts";
import { joinBlocks } from "../../../src/zone/segment/blocks/join-blocks.ts";
import { HEAP_START, KEEP_ORDER, MOST_PROBES, NodeFlag } from "../../../src/zone/segment/layout.ts";
import { apexHash, hashLabel, treeHash } from "../../../src/zone/segment/name-hash.ts";
import { findSet, recordCount, recordsOf, targetOf } from "../../../src/zone/segment/record-block.ts";
import { RecordSets } from "../../../src/zone/segment/record-sets.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import { SegmentBuilder } from "../../../src/zone/segment/segment-builder.ts";
import { handWritten } from "./hand-written.ts";

const TREES = ["clusterset", "local:a"];
/** `web` below the apex of tree 0. */
const TOP = [0, 0, 0, 4, 3, 119, 101, 98];
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
const find = (segment: Segment, tree: string, name: string) =>
  findAs(segment, tree, name, hashOf(segment, tree, name));

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
  const setOf = (segment: Segment, node: number, view: string | undefined, type: number) =>
    findSet(segment.bytes, segment.setListOf(node, segment.viewOf(view)), type);

  it("has an index for each of its trees and views, and -1 for others", () => {
    const segment = twoTrees();
    expect(["clusterset", "local:a", "local:b"].map((tree) => segment.treeOf(tree))).toEqual([0, 1, -1]);
    expect(["east", "west", "north", undefined].map((view) => segment.viewOf(view))).toEqual([0, 1, -1, -1]);
    const own = Segment.load(handWritten("segment", TOP, { tables: { trees: ["local:a"] } }), "");
    expect([own.treeOf("clusterset"), own.treeOf("local:a"), own.viewOf("east")]).toEqual([-1, 0, -1]);
    expect([segment.kind, segment.hash, segment.names]).toEqual(["segment", "hash", 4]);
  });

  it("finds its names, of any spelling, in their own trees", () => {
    const segment = twoTrees();
    const [web, tcp, port, own] = segment.nodes();
    expect(find(segment, "clusterset", "web.shop.svc")).toBe(web);
    expect(find(segment, "clusterset", "_tcp.web.shop.svc")).toBe(tcp);
    expect(find(segment, "clusterset", "_http._tcp.web.shop.svc")).toBe(port);
    expect(find(segment, "local:a", "web.shop.svc")).toBe(own);
    expect(find(segment, "local:a", "_tcp.web.shop.svc")).toBe(-1);
    expect([web, tcp, port, own].map((node) => segment.treeAbove(node!))).toEqual([0, 0, 0, 1]);
    expect([web, tcp, port, own].map((node) => segment.parentOf(node!))).toEqual([-1, web, tcp, -1]);
    expect([web, tcp].map((node) => segment.hasFlag(node!, NodeFlag.everywhere))).toEqual([true, false]);
    expect(segment.hasFlag(web!, NodeFlag.stem)).toBe(false);
  });

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

  it("has records for a view before those for all, with their terms", () => {
    const segment = twoTrees();
    const [web, tcp, , own] = segment.nodes();
    const records = ([undefined, "east", "west"] as const).map((view) => {
      const set = setOf(segment, web!, view, RecordType.A);
      const at = recordsOf(segment.bytes, set);
      return [segment.bytes[at + 3], segment.ttlOf(set), segment.leaseGroups[segment.leaseGroupOf(set)]];
    });
    expect(records).toEqual([
      [1, 5, []],
      [2, 0x8000_0007, ["east"]],
      [1, 5, []],
    ]);
    expect(segment.setListOf(tcp!, -1)).toBe(0);
    const set = setOf(segment, own!, "east", RecordType.A);
    expect([segment.ttlOf(set), segment.leaseGroups[segment.leaseGroupOf(set)]]).toEqual([
      0x01020304,
      ["west"],
    ]);
  });

  it("has the names that SRV records have as targets, for all views and for single ones", () => {
    const segment = twoTrees();
    const [web, tcp, port] = segment.nodes();
    const targets = (view: string | undefined) => {
      const set = setOf(segment, port!, view, RecordType.SRV);
      const at = recordsOf(segment.bytes, set);
      return Array.from({ length: recordCount(segment.bytes, set) }, (_, index) =>
        targetOf(segment.bytes, at + 6 * index),
      );
    };
    expect([undefined, "east", "west"].map(targets)).toEqual([[web], [port], [tcp, web]]);
  });
});

describe("the slots of a segment", () => {
  const hash = 0xff80_0000 | 0;
  const other = HEAP_START + TOP.length;
  const heap = [...TOP, 0, 0, 0, 3, 2, 100, 98];
  const names = ["web", "db", "xx"];

  it("are looked at from the last one on to the first", () => {
    const slots = [other, 0, HEAP_START];
    const segment = Segment.load(handWritten("segment", heap, { names: 2, slots }), "");
    expect(names.map((name) => findAs(segment, "clusterset", name, hash))).toEqual([HEAP_START, other, -1]);
  });

  it.each([
    [MOST_PROBES - 1, other],
    [MOST_PROBES, -1],
  ])("are looked at up to 128 of them: a name in slot %i is at %i", (slot, expected) => {
    const slots = Array.from({ length: 200 }, (_, index) =>
      index < slot ? HEAP_START : index === slot ? other : 0,
    );
    const segment = Segment.load(handWritten("segment", heap, { names: 2, slots }), "");
    expect(findAs(segment, "clusterset", "db", 0)).toBe(expected);
  });
});

describe("other bytes", () => {
  it("are no segment, whoever made them", () => {
    const bytes = handWritten("reverse", []);
    for (const read of [Segment.load, Segment.trusted])
      expect(() => read(bytes, "")).toThrow("these bytes are not a segment");
  });
});

describe("names that are built", () => {
  it("have apexes with empty runs if they are the stems", () => {
    const { block, segment } = build(({ nodes }) => {
      nodes.addFlags(nodes.child(1, "svc"), NodeFlag.stem);
    }, true);
    expect([...block.source.bytes.subarray(block.start, block.end)]).toEqual([
      ...[0, 0, 0, 0],
      ...[0, 0, 1, 0],
      ...[0x20, 0, 1, 4, 3, ...ascii("svc")],
    ]);
    const [one, other, svc] = segment.nodes();
    expect([one, other, svc].map((node) => [segment.treeAbove(node!), segment.parentOf(node!)])).toEqual([
      [0, -1],
      [1, -1],
      [1, -1],
    ]);
    expect(segment.hasFlag(svc!, NodeFlag.stem)).toBe(true);
  });

  it("come in steps, each of many names", () => {
    const builder = new SegmentBuilder(TREES);
    const web = builder.nodes.child(0, "web");
    const many = 20_000;
    for (let index = 0; index < many; index++)
      builder.setRecords(builder.nodes.child(web, `p${index}`), ports(web));
    const pace = new Pace();
    const stepsOf = (steps: Generator<void, unknown>) => {
      let count = 0;
      while (steps.next().done !== true) count++;
      return count;
    };
    // A name costs two units or three, and its target one.
    const steps = stepsOf(builder.block(pace));
    expect(steps).toBeGreaterThanOrEqual(Math.floor((3 * many) / UNITS_IN_STEP));
    expect(steps).toBeLessThanOrEqual(Math.ceil((4 * many) / UNITS_IN_STEP));
  });
});
