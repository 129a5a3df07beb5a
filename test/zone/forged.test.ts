import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../src/merge/merge.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import { Page } from "../../src/zone/generation/directory.ts";
import { Frame } from "../../src/zone/generation/frame.ts";
import { readRoot } from "../../src/zone/generation/root.ts";
import { FormatError } from "../../src/zone/segment/blob.ts";
import { runLabels } from "../../src/zone/segment/blocks/label-run.ts";
import { hashBlob } from "../../src/zone/segment/hash.ts";
import {
  BLOB_WORDS,
  HEAP_START,
  NODE_WORDS,
  NodeWord,
  SegmentHeader,
  SetField,
} from "../../src/zone/segment/layout.ts";
import { ReverseSegment } from "../../src/zone/segment/reverse-segment.ts";
import { Segment } from "../../src/zone/segment/segment.ts";
import { twoClusters } from "../resolve/world.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const { generation } = compileGeneration(mergeClusterset(twoClusters()), {
  federations: [{ name: "fed", zone: "federation" }],
});
const [segment] = generation.segments();
const [reverse] = generation.reverseSegments();

/** A loader that takes bytes with the hash that they have, as from a forger who computes it anew. */
const loaders: readonly (readonly [string, Bytes, (bytes: Bytes) => unknown])[] = [
  ["a segment", segment!.bytes, (bytes) => useSegment(Segment.load(bytes, hashBlob(bytes)))],
  ["the stems", generation.stems.bytes, (bytes) => useSegment(Segment.load(bytes, hashBlob(bytes)))],
  ["a reverse segment", reverse!.bytes, (bytes) => useReverse(ReverseSegment.load(bytes, hashBlob(bytes)))],
  ["a frame", generation.frame.bytes, (bytes) => Frame.load(bytes, hashBlob(bytes))],
  ["a page", generation.names.bytes, (bytes) => Page.load(bytes, hashBlob(bytes), true).find(7)],
  ["a root", generation.root, (bytes) => readRoot(bytes)],
];

/** Follows everything in a segment: whatever loads must end, without an exception. */
function useSegment(loaded: Segment): void {
  const name = Uint8Array.from([3, 119, 101, 98, 4, 115, 104, 111, 112, 3, 115, 118, 99]);
  for (let hash = 0; hash < 300; hash++) loaded.findNode(0, name, 0, name.length, hash * 0x9e3779b1);
  for (let node = 0; node < loaded.nodes; node++) {
    loaded.apexOf(node);
    if (node >= loaded.apexes) runLabels(loaded.bytes, loaded.runOf(node));
    for (const view of [-1, 0, 1]) loaded.setListOf(node, view);
  }
}

function useReverse(loaded: ReverseSegment): void {
  for (const bytes of loaded.addresses())
    for (const view of [undefined, "east", "west"]) {
      const target = loaded.find(bytes, bytes.length, view);
      if (target !== 0) loaded.nameOf(target, bytes);
      if (target !== 0) loaded.treeOf(target);
    }
}

/** Loads bytes; anything but success and `FormatError` is a failure of the test. */
function attempt(load: (bytes: Bytes) => unknown, bytes: Bytes): "loaded" | "refused" {
  try {
    load(bytes);
    return "loaded";
  } catch (error) {
    if (error instanceof FormatError) return "refused";
    throw error;
  }
}

describe.each(loaders)("%s with a fitting hash", (_, bytes, load) => {
  it("is loaded as it was compiled", () => {
    expect(attempt(load, bytes.slice())).toBe("loaded");
  });

  it("is rejected with any flipped bit in its first words", () => {
    for (let bit = 0; bit < BLOB_WORDS * 32; bit++) {
      const forged = bytes.slice();
      forged[bit >> 3]! ^= 1 << (bit & 7);
      expect([bit, attempt(load, forged)]).toEqual([bit, "refused"]);
    }
  });

  it("is rejected cut off anywhere, and with more bytes", () => {
    for (let length = 0; length < bytes.length; length += 4)
      expect(attempt(load, bytes.slice(0, length))).toBe("refused");
    expect(attempt(load, Uint8Array.from([...bytes, 0, 0, 0, 0]))).toBe("refused");
  });

  it("is rejected, or harmless, with any forged words", () => {
    const words = bytes.length >> 2;
    const word = fc.oneof(
      fc.nat(words * 4 + 8),
      fc.integer({ min: -0x80000000, max: 0x7fffffff }),
      fc.constantFrom(0, 1, -1, HEAP_START),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(words - 1), word), { minLength: 1, maxLength: 4 }), (changes) => {
        const forged = bytes.slice();
        const view = new Int32Array(forged.buffer);
        for (const [at, value] of changes) view[at] = value;
        attempt(load, forged);
      }),
      { numRuns: 500 },
    );
  });

  it("is rejected, or harmless, with any forged byte", () => {
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, value) => {
        const forged = bytes.slice();
        forged[at] = value;
        attempt(load, forged);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a forged segment with a fitting hash", () => {
  const { nodes, trees, bytes } = segment!;
  const sections = (Math.ceil(new Uint32Array(bytes.buffer)[SegmentHeader.heapEnd]! / 4) * 4) >> 2;
  const slots = new Uint32Array(bytes.buffer)[SegmentHeader.slots]!;
  const wordOf = (node: number, word: number) => sections + node * NODE_WORDS + word;
  const slotsAt = wordOf(nodes, 0);
  const firstBlock = () => {
    for (let node = 0; node < nodes; node++) {
      const block = new Uint32Array(bytes.buffer)[wordOf(node, NodeWord.records)]! & 0x3fffffff;
      if (block !== 0) return { node, block };
    }
    throw new Error("no records");
  };
  const child = trees.length;
  const heapEnd = new Uint32Array(bytes.buffer)[SegmentHeader.heapEnd]!;
  type Forge = readonly [unit: "words" | "bytes", at: number, value: number];
  const { block } = firstBlock();
  const set = block + 1;
  const words = new Uint32Array(bytes.buffer);
  const run = words[wordOf(child, NodeWord.run)]!;
  const cases: readonly (readonly [string, Forge, string])[] = [
    ["a slot for no node", ["words", slotsAt, nodes + 1], "refers to nothing"],
    ["a slot with a part of a hash alone", ["words", slotsAt, 0x7f000000], "refers to nothing"],
    ["a node that is its own parent", ["words", wordOf(child, NodeWord.parent), child], "before its parent"],
    ["a parent behind its child", ["words", wordOf(child, NodeWord.parent), child + 1], "before its parent"],
    ["a run outside the heap", ["words", wordOf(child, NodeWord.run), bytes.length], "outside the heap"],
    ["a run in the header", ["words", wordOf(child, NodeWord.run), HEAP_START - 4], "outside the heap"],
    ["an empty run", ["bytes", run, 0], "a run of 0 bytes is empty"],
    ["a run that is longer than its labels", ["bytes", run, bytes[run]! + 1], "label"],
    ["a run that ends in a label", ["bytes", run, bytes[run]! - 1], "a label ends outside the heap"],
    ["a run that ends outside the heap", ["words", wordOf(child, NodeWord.run), heapEnd - 1], "a run of"],
    ["an empty label", ["bytes", run + 1, 0], "a label has 0 bytes"],
    ["a label of 64 bytes", ["bytes", run + 1, 64], "a label has 64 bytes"],
    ["a label that ends outside its run", ["bytes", run + 1, 63], "a label ends outside the heap"],
    [
      "records outside the heap",
      ["words", wordOf(child, NodeWord.records), bytes.length],
      "outside the heap",
    ],
    ["slots that are no power of two", ["words", SegmentHeader.slots, slots - 1], "not a power of two"],
    ["a set with an unknown lease group", ["bytes", set + SetField.leaseGroup, 77], "unknown lease group"],
    ["a set that is too long", ["bytes", set + SetField.count, 255], "ends outside the heap"],
  ];
  it.each(cases)("is rejected with %s", (_, [unit, at, value], message) => {
    const forged = bytes.slice();
    const into = unit === "words" ? new Uint32Array(forged.buffer) : forged;
    into[at] = value;
    expect(() => Segment.load(forged, hashBlob(forged))).toThrow(message);
  });

  it("is rejected without an empty slot, at which a search ends", () => {
    const forged = bytes.slice();
    new Uint32Array(forged.buffer).fill(1, slotsAt, slotsAt + slots);
    expect(() => Segment.load(forged, hashBlob(forged))).toThrow("no slot is empty");
  });

  it("is rejected if a name is too long", () => {
    const forged = bytes.slice();
    const into = new Uint32Array(forged.buffer);
    for (let node = child + 1; node < nodes; node++) into[wordOf(node, NodeWord.parent)] = node - 1;
    expect(() => Segment.load(forged, hashBlob(forged))).toThrow("too long");
  });

  it("is rejected if many nodes share one record block, which would take long to check", () => {
    const forged = bytes.slice();
    const into = new Uint32Array(forged.buffer);
    for (let node = 0; node < nodes; node++) into[wordOf(node, NodeWord.records)] = block;
    forged[block] = 255;
    expect(() => Segment.load(forged, hashBlob(forged))).toThrow(FormatError);
  });
});
