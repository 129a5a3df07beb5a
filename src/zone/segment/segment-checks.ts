import { MAX_LABEL_BYTES, MAX_NAME_BYTES, RecordType } from "../../dns/codes.ts";
import { align, check, readJson } from "./blob.ts";
import {
  HEAP_START,
  LONG_COUNT,
  NODE_WORDS,
  NodeWord,
  RECORDS_OFFSET,
  SEGMENT_WORDS,
  SET_HEADER_BYTES,
  SegmentHeader,
  type SegmentTables,
  SetField,
  SLOT_ENTRY,
} from "./layout.ts";
import { fixedDataBytes, read16, read32 } from "./record-block.ts";

/** Where the parts of a segment are. */
export interface SegmentLayout {
  /** Their number. */
  readonly nodes: number;
  readonly slots: number;
  readonly seed: number;
  /** Word index of the first node. */
  readonly nodesAt: number;
  /** Word index of the first slot. */
  readonly slotsAt: number;
  /** Offset of the end of the heap. */
  readonly heapEnd: number;
  readonly tables: SegmentTables;
}

/**
 * Reads the header and the tables of a segment.
 * @throws {FormatError} if they do not fit together
 */
export function readLayout(bytes: Uint8Array, words: Uint32Array): SegmentLayout {
  check(words.length >= SEGMENT_WORDS, `${bytes.length} bytes are too few for a segment`);
  const [heapEnd, trees, nodes, slots, tablesBytes, seed] = headerOf(words);
  check(heapEnd >= HEAP_START && heapEnd <= bytes.length, "the heap ends outside the segment");
  for (let index = heapEnd; index < align(heapEnd); index++)
    check(bytes[index] === 0, "the heap is not followed by zeros");
  check(slots > 0 && (slots & (slots - 1)) === 0, `${slots} slots are not a power of two`);
  const { nodesAt, slotsAt } = sectionsOf(words);
  const tablesAt = 4 * (slotsAt + slots);
  check(tablesAt <= bytes.length, "the sections end outside the segment");
  check(
    4 * Math.ceil((tablesAt + tablesBytes) / 4) === bytes.length,
    "the tables do not end with the segment",
  );
  const tables = readTables(readJson(bytes, tablesAt, tablesBytes, "the segment"));
  check(tables.trees.length === trees, "the tables have other trees than the header");
  return { nodes, slots, seed, nodesAt, slotsAt, heapEnd, tables };
}

/** The layout of a segment that this program compiled, without a check. */
export function layoutOf(words: Uint32Array, tables: SegmentTables): SegmentLayout {
  const [heapEnd, , nodes, slots, , seed] = headerOf(words);
  return { nodes, slots, seed, ...sectionsOf(words), heapEnd, tables };
}

function headerOf(words: Uint32Array): readonly [number, number, number, number, number, number] {
  return words.subarray(SegmentHeader.heapEnd, SEGMENT_WORDS) as unknown as ReturnType<typeof headerOf>;
}

function sectionsOf(words: Uint32Array): Pick<SegmentLayout, "nodesAt" | "slotsAt"> {
  const [heapEnd, , nodes] = headerOf(words);
  const nodesAt = align(heapEnd) >> 2;
  // A forged count may be as large as a word can be, far above what is exact in 32 bits: plain arithmetic is exact.
  return { nodesAt, slotsAt: nodesAt + nodes * NODE_WORDS };
}

/**
 * Checks nodes, slots and record blocks.
 * @throws {FormatError} for anything that a lookup could follow out of the segment, or for ever
 */
export function checkNames(bytes: Uint8Array, words: Uint32Array, layout: SegmentLayout): void {
  const { nodes, slots, nodesAt, slotsAt, heapEnd, tables } = layout;
  const apexes = tables.trees.length;
  check(apexes <= nodes, "there are fewer nodes than trees");
  checkSlots(words, slotsAt, slots, nodes);
  const nameBytes = new Uint8Array(nodes);
  for (let node = apexes; node < nodes; node++) {
    const parent = words[nodesAt + node * NODE_WORDS + NodeWord.parent]!;
    const run = words[nodesAt + node * NODE_WORDS + NodeWord.run]!;
    check(parent < node, `node ${node} comes before its parent`);
    const named = nameBytes[parent]! + checkRun(bytes, run, heapEnd);
    check(named < MAX_NAME_BYTES, `the name of node ${node} is too long`);
    nameBytes[node] = named;
  }
  const blocks = new BlockChecks(bytes, layout);
  for (let node = 0; node < nodes; node++) {
    const block = words[nodesAt + node * NODE_WORDS + NodeWord.records]! & RECORDS_OFFSET;
    if (block !== 0) blocks.checkBlock(block);
  }
}

/** Checks that entries are at most `most`, and that one slot is empty, at which a search ends. */
export function checkSlots(words: Uint32Array, at: number, slots: number, most: number): void {
  let isFull = true;
  for (let slot = at; slot < at + slots; slot++) {
    if (words[slot] === 0) isFull = false;
    else check(isWithin(words[slot]! & SLOT_ENTRY, most), "a slot refers to nothing");
  }
  check(!isFull, "no slot is empty");
}

function isWithin(entry: number, most: number): boolean {
  return entry > 0 && entry <= most;
}

/** The length of the label at an offset. */
export function labelAt(bytes: Uint8Array, label: number, end: number): number {
  check(label >= HEAP_START && label < end, "a label is outside the heap");
  const length = bytes[label]!;
  check(length > 0 && length <= MAX_LABEL_BYTES, `a label has ${length} bytes`);
  check(label + 1 + length <= end, "a label ends outside the heap");
  return length;
}

/** Checks a run of labels at an offset. @returns their length in bytes */
function checkRun(bytes: Uint8Array, run: number, heapEnd: number): number {
  check(run >= HEAP_START && run < heapEnd, "a run is outside the heap");
  const length = bytes[run]!;
  const end = run + 1 + length;
  check(length > 0 && end <= heapEnd, `a run of ${length} bytes is empty or ends outside the heap`);
  for (let at = run + 1; at < end; ) at += 1 + labelAt(bytes, at, end);
  return length;
}

/** Checks record blocks, which together are not longer than the heap. */
class BlockChecks {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #nodes: number;
  readonly #tables: SegmentTables;
  #checked = 0;

  constructor(bytes: Uint8Array, { heapEnd, nodes, tables }: SegmentLayout) {
    this.#bytes = bytes;
    this.#end = heapEnd;
    this.#nodes = nodes;
    this.#tables = tables;
  }

  checkBlock(block: number): void {
    check(block >= HEAP_START, "a record block is outside the heap");
    const at = this.#checkList(block);
    this.#need(at, 1);
    const isLong = this.#bytes[at] === LONG_COUNT;
    if (isLong) this.#need(at, 3);
    const count = isLong ? read16(this.#bytes, at + 1) : this.#bytes[at]!;
    let position = at + (isLong ? 3 : 1);
    for (let left = count; left > 0; left--) {
      this.#need(position, 2);
      check(read16(this.#bytes, position) < this.#tables.views.length, "a record block has an unknown view");
      position = this.#checkList(position + 2);
    }
    this.#checked += position - block;
    // Blocks that share bytes could take very long to check.
    check(this.#checked <= this.#bytes.length, "record blocks overlap");
  }

  /** @returns the offset after the set list */
  #checkList(list: number): number {
    this.#need(list, 1);
    let set = list + 1;
    for (let left = this.#bytes[list]!; left > 0; left--) set = this.#checkSet(set);
    return set;
  }

  #checkSet(set: number): number {
    const bytes = this.#bytes;
    this.#need(set, SET_HEADER_BYTES);
    const type = read16(bytes, set);
    const leaseGroup = read16(bytes, set + SetField.leaseGroup);
    check(leaseGroup < this.#tables.leaseGroups.length, "a set has an unknown lease group");
    const count = read16(bytes, set + SetField.count);
    const fixed = fixedDataBytes(type);
    let at = set + SET_HEADER_BYTES;
    if (fixed > 0) {
      this.#need(at, count * fixed);
      if (type === RecordType.SRV)
        for (let index = 0; index < count; index++)
          check(read32(bytes, at + index * fixed + 2) < this.#nodes, "an SRV record has an unknown target");
      return at + count * fixed;
    }
    for (let index = 0; index < count; index++) {
      this.#need(at, 2);
      const length = read16(bytes, at);
      this.#need(at + 2, length);
      if (type === RecordType.CNAME) checkName(bytes, at + 2, length);
      at += 2 + length;
    }
    return at;
  }

  #need(at: number, length: number): void {
    check(at + length <= this.#end, "a record block ends outside the heap");
  }
}

/** Checks that RDATA is one name. */
function checkName(bytes: Uint8Array, start: number, length: number): void {
  const end = start + length;
  let at = start;
  while (at < end && bytes[at] !== 0) {
    check(bytes[at]! <= MAX_LABEL_BYTES, "a CNAME record has no name");
    at += bytes[at]! + 1;
  }
  check(at === end - 1 && length <= MAX_NAME_BYTES, "a CNAME record has no name");
}

function readTables(value: unknown): SegmentTables {
  const tables = (value ?? {}) as Partial<Record<keyof SegmentTables, unknown>>;
  const { trees, views, leaseGroups } = tables;
  check(isNames(trees) && trees.length < 0x8000, "the segment has no table of trees");
  check(isNames(views), "the segment has no table of views");
  check(
    Array.isArray(leaseGroups) && leaseGroups.every(isNames) && leaseGroups[0]?.length === 0,
    "the segment has no table of lease groups",
  );
  return { trees, views, leaseGroups };
}

/** Whether a value is a list of distinct texts. */
export function isNames(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.every((name) => typeof name === "string") &&
    new Set(value).size === value.length
  );
}
