import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RecordType } from "../../../src/dns/codes.ts";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { compileGeneration } from "../../../src/zone/compile.ts";
import { Page } from "../../../src/zone/generation/directory.ts";
import { Frame } from "../../../src/zone/generation/frame.ts";
import { readRoot } from "../../../src/zone/generation/root.ts";
import { Pace } from "../../../src/zone/pace.ts";
import { FormatError } from "../../../src/zone/segment/blob.ts";
import { joinBlocks } from "../../../src/zone/segment/blocks/join-blocks.ts";
import { runLabels } from "../../../src/zone/segment/blocks/label-run.ts";
import { isTop, runOf } from "../../../src/zone/segment/blocks/names.ts";
import { hashBlob } from "../../../src/zone/segment/hash.ts";
import {
  BLOB_WORDS,
  HEAP_START,
  NameForm,
  SegmentHeader,
  SetField,
  TERMS_BYTES,
} from "../../../src/zone/segment/layout.ts";
import { findSet, recordCount, recordsOf, targetOf } from "../../../src/zone/segment/record-block.ts";
import { ReverseSegment } from "../../../src/zone/segment/reverse-segment.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import { SegmentBuilder } from "../../../src/zone/segment/segment-builder.ts";
import { twoClusters } from "../../resolve/world.ts";

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
  const { bytes } = loaded;
  const nodes = new Set(loaded.nodes());
  for (const node of nodes) {
    loaded.treeAbove(node);
    runLabels(bytes, loaded.runOf(node));
    for (const view of [-1, 0, 1]) {
      const list = loaded.setListOf(node, view);
      const set = list === 0 ? 0 : findSet(bytes, list, RecordType.SRV);
      if (set === 0) continue;
      expect(loaded.ttlOf(set)).toBeGreaterThanOrEqual(0);
      expect(loaded.leaseGroups[loaded.leaseGroupOf(set)]).toBeDefined();
      for (let left = recordCount(bytes, set), at = recordsOf(bytes, set); left > 0; left--, at += 6)
        expect(nodes.has(targetOf(bytes, at))).toBe(true);
    }
  }
}

function useReverse(loaded: ReverseSegment): void {
  for (const bytes of loaded.addresses())
    for (const view of [undefined, "east", "west"]) {
      const target = loaded.find(bytes, bytes.length, view);
      if (target !== 0) loaded.nameOf(target, bytes);
      if (target !== 0) expect(loaded.treeOf(target)).toBeDefined();
      if (target !== 0) expect(loaded.leaseGroups[loaded.leaseGroupOf(target)]).toBeDefined();
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
  const { bytes } = segment!;
  const words = new Uint32Array(bytes.buffer);
  const heapEnd = words[SegmentHeader.heapEnd]!;
  const slots = words[SegmentHeader.slots]!;
  const slotsAt = heapEnd + TERMS_BYTES * words[SegmentHeader.terms]!;
  const nodes = [...segment!.nodes()];
  const find = (what: string, isWanted: (node: number) => boolean) => {
    const found = nodes.find(isWanted);
    if (found === undefined) throw new Error(`no ${what}`);
    return found;
  };
  /** A name below another one, with a distance of one byte. */
  const child = find("child", (node) => (bytes[node]! & NameForm.parent) === 1);
  const top = find("top", (node) => isTop(bytes, node));
  const listed = find("name with records", (node) => segment!.setListOf(node, -1) !== 0);
  const set = segment!.setListOf(listed, -1) + 1;
  const run = runOf(bytes, child);
  const last = nodes.at(-1)!;
  const services = find("SRV", (node) => {
    const list = segment!.setListOf(node, -1);
    return list !== 0 && findSet(bytes, list, RecordType.SRV) !== 0;
  });
  const service = recordsOf(bytes, findSet(bytes, segment!.setListOf(services, -1), RecordType.SRV));
  type Forge = readonly [unit: "words" | "bytes", at: number, value: number];
  const cases: readonly (readonly [string, Forge, string])[] = [
    ["a slot for no name", ["bytes", slotsAt, 1], "refers to nothing"],
    ["no slots", ["words", SegmentHeader.slots, 0], "no slots"],
    ["fewer slots", ["words", SegmentHeader.slots, slots - 4], "the slots are not followed by zeros"],
    ["more slots", ["words", SegmentHeader.slots, slots * 2], "the segment"],
    ["more names than it has", ["words", SegmentHeader.names, nodes.length + 1], "names and not"],
    ["a name that is its own parent", ["bytes", child + 1, 0], "in front of its child"],
    ["a parent that is no name", ["bytes", child + 1, bytes[child + 1]! - 1], "in front of its child"],
    ["a parent in front of the heap", ["bytes", child + 1, 255], "in front of its child"],
    ["an unknown tree", ["bytes", top + 1, 77], "unknown tree"],
    ["an unknown form", ["bytes", child, 0x80], "unknown form"],
    ["an empty run", ["bytes", run, 0], "a run of 0 bytes is empty"],
    ["a run that is longer than its labels", ["bytes", run, bytes[run]! + 1], "label"],
    ["a run that ends in a label", ["bytes", run, bytes[run]! - 1], "a label ends outside the heap"],
    ["a run that ends outside the heap", ["bytes", runOf(bytes, last), 254], "ends outside the heap"],
    ["an empty label", ["bytes", run + 1, 0], "a label has 0 bytes"],
    ["a label of 64 bytes", ["bytes", run + 1, 64], "a label has 64 bytes"],
    ["a label that ends outside its run", ["bytes", run + 1, 63], "a label ends outside the heap"],
    ["a heap in its header", ["words", SegmentHeader.heapEnd, HEAP_START - 1], "the heap ends outside"],
    ["a heap that ends in a name", ["words", SegmentHeader.heapEnd, heapEnd - 1], "the segment"],
    ["a set with unknown terms", ["bytes", set + SetField.terms, 77], "unknown terms"],
    ["terms with an unknown lease group", ["bytes", heapEnd + 4, 77], "unknown lease group"],
    ["an SRV target that is no name", ["bytes", service + 5, bytes[service + 5]! ^ 1], "unknown target"],
    ["an SRV target outside the heap", ["bytes", service + 2, 0x7f], "unknown target"],
  ];
  it.each(cases)("is rejected with %s", (_, [unit, at, value], message) => {
    const forged = bytes.slice();
    const into = unit === "words" ? new Uint32Array(forged.buffer) : forged;
    into[at] = value;
    expect(() => Segment.load(forged, hashBlob(forged))).toThrow(FormatError);
    expect(() => Segment.load(forged, hashBlob(forged))).toThrow(message);
  });

  it("is rejected without an empty slot, at which a search ends", () => {
    const forged = bytes.slice();
    for (let slot = 0; slot < slots; slot++) {
      const at = slotsAt + 3 * slot;
      if (forged.subarray(at, at + 3).every((byte) => byte === 0)) forged.set([top, top >> 8, 0], at);
    }
    expect(() => Segment.load(forged, hashBlob(forged))).toThrow("no slot is empty");
  });

  it("is rejected if a name is too long", () => {
    const forged = longNames(5);
    expect(() => Segment.load(forged, hashBlob(forged))).toThrow("too long");
    expect(Segment.load(longNames(3), "").names).toBe(3);
  });

  it("is rejected if a set has more records than the heap has room for", () => {
    const forged = bytes.slice();
    forged[segment!.setListOf(last, -1) + 1 + SetField.count] = 254;
    expect(() => Segment.load(forged, hashBlob(forged))).toThrow(FormatError);
  });
});

/** A segment with names of so many labels of 63 bytes, one below the other. */
function longNames(count: number): Bytes {
  const builder = new SegmentBuilder(["clusterset"]);
  for (let node = 0, left = count; left > 0; left--) node = builder.nodes.child(node, "x".repeat(63));
  const pace = new Pace();
  return drain(joinBlocks([drain(builder.block(pace))], pace)).bytes;
}
