import { describe, expect, it } from "vitest";
import { FormatError } from "../../../src/zone/segment/blob.ts";
import { BlobHeader, HEAP_START, SegmentHeader } from "../../../src/zone/segment/layout.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import { type Around, handWritten } from "./hand-written.ts";

/** `web` below the apex of tree 0. */
const TOP = [0, 0, 0, 4, 3, 119, 101, 98];
const load = (tables: NonNullable<Around["tables"]>) =>
  Segment.load(handWritten("segment", TOP, { tables }), "");

describe("the header and the tables of a segment", () => {
  const changed = (word: number, value: (old: number) => number) => {
    const bytes = handWritten("segment", TOP);
    const words = new Uint32Array(bytes.buffer);
    words[word] = value(words[word]!);
    return () => Segment.load(bytes, "");
  };

  it.each([
    [
      "a heap that starts in the header",
      SegmentHeader.heapEnd,
      () => HEAP_START - 1,
      "the heap ends outside the segment",
    ],
    ["a heap that ends behind it", SegmentHeader.heapEnd, () => 4096, "the heap ends outside the segment"],
    ["no slots", SegmentHeader.slots, () => 0, "the segment has no slots"],
    ["more slots than bytes", SegmentHeader.slots, () => 0xffff_ffff, "the sections end outside the segment"],
    ["more terms than bytes", SegmentHeader.terms, () => 0xffff_ffff, "the sections end outside the segment"],
    [
      "longer tables",
      SegmentHeader.tablesBytes,
      (old: number) => old + 4,
      "the tables do not end with the segment",
    ],
    [
      "shorter tables",
      SegmentHeader.tablesBytes,
      (old: number) => old - 4,
      "the tables do not end with the segment",
    ],
    ["another number of trees", SegmentHeader.trees, () => 2, "the tables have other trees than the header"],
  ])("are rejected with %s", (_, word, value, message) => {
    expect(changed(word, value)).toThrow(FormatError);
    expect(changed(word, value)).toThrow(message);
  });

  it("are rejected if the header is cut off", () => {
    const bytes = handWritten("segment", TOP).slice(0, HEAP_START - 4);
    new Uint32Array(bytes.buffer)[BlobHeader.totalBytes] = bytes.length;
    expect(() => Segment.load(bytes, "")).toThrow("40 bytes are too few for a segment");
  });

  it("are rejected with a byte between slots and tables, and after the tables", () => {
    const bytes = handWritten("segment", TOP, { tables: { views: ["a"] } });
    const words = new Uint32Array(bytes.buffer);
    const end = words[SegmentHeader.heapEnd]! + 6 + 2 * 3;
    const tablesAt = Math.ceil(end / 4) * 4;
    Segment.load(bytes, "");
    expect(tablesAt).toBe(end);
    const odd = handWritten("segment", [...TOP, ...TOP], { names: 2, slots: [HEAP_START, 0, 0] });
    const oddEnd = new Uint32Array(odd.buffer)[SegmentHeader.heapEnd]! + 6 + 3 * 3;
    Segment.load(odd, "");
    expect(odd[Math.ceil(oddEnd / 4) * 4]).toBe("{".charCodeAt(0));
    for (let at = oddEnd; at % 4 !== 0; at++)
      expect(() => Segment.load(odd.with(at, 1), "")).toThrow("the slots are not followed by zeros");
    const jsonEnd = tablesAt + words[SegmentHeader.tablesBytes]!;
    expect(bytes.length - jsonEnd).toBeGreaterThan(0);
    for (let at = jsonEnd; at < bytes.length; at++)
      expect(() => Segment.load(bytes.with(at, 1), "")).toThrow(
        "the tables of the segment are not followed by zeros",
      );
    expect(() => Segment.load(bytes.with(tablesAt, 0), "")).toThrow("the tables of the segment are not JSON");
  });

  const tables: readonly (readonly [tables: object, message: string])[] = [
    [{ trees: "clusterset" }, "the segment has no table of trees"],
    [{ trees: [1] }, "the segment has no table of trees"],
    [{ trees: ["clusterset", "clusterset"] }, "the segment has no table of trees"],
    [{ views: undefined }, "the segment has no table of views"],
    [{ views: [null] }, "the segment has no table of views"],
    [{ views: ["a", "a"] }, "the segment has no table of views"],
    [{ leaseGroups: {} }, "the segment has no table of lease groups"],
    [{ leaseGroups: [] }, "the segment has no table of lease groups"],
    [{ leaseGroups: [["a"]] }, "the segment has no table of lease groups"],
    [{ leaseGroups: [[], "a"] }, "the segment has no table of lease groups"],
    [{ leaseGroups: [[], ["a", "a"]] }, "the segment has no table of lease groups"],
  ];
  it.each(tables)("are rejected with %j", (given, message) => {
    expect(() => load(given)).toThrow(new FormatError(message));
  });

  it("are rejected with so many trees that an index has 16 bits", () => {
    const trees = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);
    expect(load({ trees: trees(0x7fff) }).trees).toHaveLength(0x7fff);
    expect(() => load({ trees: trees(0x8000) })).toThrow("no table of trees");
  });
});
