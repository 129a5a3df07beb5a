import { describe, expect, it } from "vitest";
import { BlobHeader, HEAP_START } from "../../../src/zone/segment/layout.ts";
import { ReverseSegment } from "../../../src/zone/segment/reverse-segment.ts";
import {
  type Around,
  type Heap,
  handWritten,
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
