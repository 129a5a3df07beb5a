import { describe, expect, it } from "vitest";
import { BlobHeader, HEAP_START } from "../../../src/zone/segment/layout.ts";
import { ReverseSegment } from "../../../src/zone/segment/reverse-segment.ts";
import {
  type Accepted,
  type Around,
  type Heap,
  handWritten,
  itIsLoadedWith,
  itIsRejectedWith,
  labelsOfBytes,
  type Rejected,
} from "./hand-written.ts";

const load = (heap: Heap, around?: Around) => ReverseSegment.load(handWritten("reverse", heap, around), "");

const WEB = [3, 119, 101, 98];
const V4 = [10, 0, 0, 1];
const V6 = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
/** The form of a target whose first label is the address with dashes: `10-0-0-1`, 9 bytes. */
const ADDRESS = 1;
/** The form of a target with the labels of a cluster. */
const CLUSTER = 2;
const target = (labels: Heap = WEB, form = 0, group = 0, terms = 0) => [
  ...[0, terms, 0, group, form, labels.length],
  ...labels,
];
const entry = (address: Heap, ...targets: readonly Heap[]) => [
  ...[address.length, ...address, targets.length],
  ...targets.flat(),
];
const one = (...args: Parameters<typeof target>) => entry(V4, target(...args));
const groups = (...all: readonly (readonly string[])[]) => ({ tables: { leaseGroups: [[], ...all] } });
const east = groups(["east"]);
const terms = (view: number, tree: number) => [0, view, 0, 0, 0, 5, 0, tree];

const accepted: readonly Accepted[] = [
  ["no addresses", [], { names: 0, slots: [0] }],
  ["an address without targets", entry(V4)],
  ["an address of 16 bytes", entry(V6, target())],
  ["a slot for its second entry", [...one(), ...one()], { names: 2, slots: [0, HEAP_START + 16] }],
  ["a long count", [4, ...V4, 255, 0, 1, ...target()]],
  ["the last of its views", one(), { terms: [terms(1, 0)], tables: { views: ["a"] } }],
  ["the last of its trees", one(), { terms: [terms(0, 1)], tables: { trees: ["clusterset", "local:a"] } }],
  ["the last of its terms", one(WEB, 0, 0, 1), { terms: [terms(0, 0), terms(0, 0)] }],
  ["the last of its lease groups", one(WEB, 0, 1), east],
  ["an address as the only label", one([], ADDRESS)],
  ["a name of 254 bytes", one(labelsOfBytes(254))],
  ["a name of 254 bytes with the address", one(labelsOfBytes(245), ADDRESS)],
  ["a name of 254 bytes with the cluster", one(labelsOfBytes(249), CLUSTER, 1), east],
];

const rejected: readonly Rejected[] = [
  ["fewer addresses", one(), "there are 1 addresses and not 2", { names: 2 }],
  ["an address of 5 bytes", entry([...V4, 1], target()), "an address has neither 4 nor 16 bytes"],
  ["terms with an unknown view", one(), "a reverse target has an unknown view", { terms: [terms(1, 0)] }],
  ["terms with an unknown tree", one(), "a reverse target has an unknown tree", { terms: [terms(0, 1)] }],
  [
    "second terms with an unknown tree",
    one(),
    ...(["a reverse target has an unknown tree", { terms: [terms(0, 0), terms(0, 1)] }] as const),
  ],
  ["unknown terms", one(WEB, 0, 0, 1), "a reverse target has unknown terms"],
  ["an unknown lease group", one(WEB, 0, 1), "a reverse target has an unknown lease group"],
  ["an unknown form", one(WEB, 4), "a reverse target has an unknown form"],
  ["an unknown form, with a known bit", one(WEB, 0x81), "a reverse target has an unknown form"],
  ["a second target of an unknown form", entry(V4, target(), target(WEB, 8)), "an unknown form"],
  ["no label", one([]), "a reverse target has no first label"],
  ["a cluster and no first label", one([], CLUSTER, 1), "a reverse target has no first label", east],
  ["no cluster", one(WEB, CLUSTER), "a reverse target has no labels of a cluster"],
  ["two clusters", one(WEB, CLUSTER, 1), "no labels of a cluster", groups(["east", "west"])],
  ["a cluster that is no label", one(WEB, CLUSTER, 1), "no labels of a cluster", groups(["a..b"])],
  ["a name of 255 bytes", one(labelsOfBytes(255)), "the name of a reverse target is too long"],
  ["a name of 255 bytes with the address", one(labelsOfBytes(246), ADDRESS), "too long"],
  ["a name of 255 bytes with the cluster", one(labelsOfBytes(250), CLUSTER, 1), "too long", east],
  ["an empty label", one([...WEB, 0]), "a label has 0 bytes"],
  ["a label that ends one byte after its labels", one([4, 119, 101, 98]), "a label ends outside the heap"],
  ["a slot for a byte of an entry", one(), "a slot refers to nothing", { slots: [0, HEAP_START + 1] }],
  ["no empty slot", one(), "no slot is empty", { slots: [HEAP_START, HEAP_START] }],
];

describe("a reverse segment whose bytes fit together", () => {
  itIsLoadedWith(accepted, (heap, around) => load(heap, around).addresses());
});

describe("a reverse segment that a lookup could leave", () => {
  itIsRejectedWith(rejected, load);

  it.each([
    ["a target", one()],
    ["targets of an address of 16 bytes", entry(V6, target(), target([], ADDRESS))],
    ["a long count", [4, ...V4, 255, 0, 1, ...target()]],
  ])("is rejected wherever its heap ends in %s", (_, heap) => {
    load(heap);
    for (let length = 1; length < heap.length; length++)
      expect(() => load(heap.slice(0, length)), `${length} bytes`).toThrow(
        "a reverse entry ends outside the heap",
      );
  });

  it("is rejected if its header is cut off, and as another blob", () => {
    const bytes = handWritten("reverse", one()).slice(0, HEAP_START - 4);
    new Uint32Array(bytes.buffer)[BlobHeader.totalBytes] = bytes.length;
    expect(() => ReverseSegment.load(bytes, "")).toThrow("40 bytes are too few for a segment");
    expect(() => ReverseSegment.trusted(bytes, "")).toThrow("40 bytes are too few for a segment");
    for (const read of [ReverseSegment.load, ReverseSegment.trusted])
      expect(() => read(handWritten("segment", []), "")).toThrow("these bytes are not a reverse segment");
  });
});

describe("a reverse segment", () => {
  const tables = {
    trees: ["clusterset", "local:a"],
    views: ["a", "b"],
    leaseGroups: [[], ["eu.east"], ["a", "b"]],
  };
  const around = { terms: [terms(0, 0), [0, 2, 1, 2, 3, 4, 0, 1]], tables };
  const heap = entry(
    V4,
    ...[target(), target([...WEB, 1, 97], CLUSTER, 1, 1), target([1, 97], ADDRESS, 2), target([1, 97], 3, 1)],
  );
  const text = (name: Uint8Array) => String.fromCharCode(...name.map((byte) => (byte < 32 ? 46 : byte)));

  it("has the names of its targets, whose form leaves out the address or the cluster", () => {
    const bytes = handWritten("reverse", heap, around);
    for (const read of [ReverseSegment.load, ReverseSegment.trusted]) {
      const segment = read(bytes, "");
      const found = [];
      let at = segment.firstTarget(HEAP_START);
      for (const end = segment.entryEnd(HEAP_START); at < end; at += 6 + bytes[at + 5]!)
        found.push([
          ...[text(segment.nameOf(at, Uint8Array.from(V4))), segment.labelOf(at), segment.viewOf(at)],
          ...[segment.ttlOf(at), segment.treeOf(at), segment.leaseGroupOf(at)],
        ]);
      expect(found).toEqual([
        [".web", "web", 0, 5, "clusterset", 0],
        [".web.eu.east.a", "web", 2, 0x01020304, "local:a", 1],
        [".10-0-0-1.a", undefined, 0, 5, "clusterset", 2],
        [".10-0-0-1.eu.east.a", undefined, 0, 5, "clusterset", 1],
      ]);
    }
  });

  it("has a target for one view before that for all, and none for another address", () => {
    const own = load(entry(V4, target(), target(WEB, 0, 0, 1)), {
      ...around,
      slots: [0, HEAP_START, HEAP_START],
    });
    const at = (address: Heap, view?: string) => own.find(Uint8Array.from(address), address.length, view);
    const first = HEAP_START + 6;
    expect([at(V4), at(V4, "a"), at(V4, "b"), at(V4, "c")]).toEqual([first, first, first + 10, first]);
    expect([at([10, 0, 0, 2]), at([11, 0, 0, 1]), at(V6)]).toEqual([0, 0, 0]);
  });
});
