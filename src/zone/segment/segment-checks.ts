import { MAX_LABEL_BYTES, MAX_NAME_BYTES } from "../../dns/codes.ts";
import { check, readJson } from "./blob.ts";
import { BlockChecks, readTables } from "./block-checks.ts";
import { distanceToParent, isTop, runOf, treeOfTop } from "./blocks/names.ts";
import {
  HEAP_START,
  MOST_HEAP_BYTES,
  NameForm,
  SEGMENT_WORDS,
  SegmentHeader,
  type SegmentTables,
  TERMS_BYTES,
} from "./layout.ts";
import { read16 } from "./record-block.ts";
import { offsetBits, readSlot, slotBytes } from "./slots.ts";

const ALL_FORMS = Object.values(NameForm).reduce((forms, form) => forms | form, 0);

/** Where the parts of a segment are. */
export interface SegmentLayout {
  /** Their number. */
  readonly names: number;
  readonly terms: number;
  readonly slots: number;
  readonly seed: number;
  /** Offset of the end of the heap, where the terms begin. */
  readonly heapEnd: number;
  /** Offset of the first slot. */
  readonly slotsAt: number;
  readonly tables: SegmentTables;
}

/**
 * Reads the header and the tables of a segment.
 * @param termsBytes those of one of its terms
 * @throws {FormatError} if they do not fit together
 */
export function readLayout(bytes: Uint8Array, words: Uint32Array, termsBytes: number): SegmentLayout {
  check(words.length >= SEGMENT_WORDS, `${bytes.length} bytes are too few for a segment`);
  const heapEnd = words[SegmentHeader.heapEnd]!;
  const ends = "the heap ends outside the segment";
  check(heapEnd >= HEAP_START && heapEnd <= bytes.length && heapEnd <= MOST_HEAP_BYTES, ends);
  const sections = sectionsOf(words, termsBytes);
  check(sections.slots > 0, "the segment has no slots");
  // A forged count may be as large as a word can be, far above what is exact in 32 bits: plain arithmetic is exact.
  const slotsEnd = sections.slotsAt + sections.slots * slotBytes(heapEnd);
  const tablesAt = 4 * Math.ceil(slotsEnd / 4);
  check(tablesAt <= bytes.length, "the sections end outside the segment");
  for (let at = slotsEnd; at < tablesAt; at++) check(bytes[at] === 0, "the slots are not followed by zeros");
  const tablesBytes = words[SegmentHeader.tablesBytes]!;
  check(
    4 * Math.ceil((tablesAt + tablesBytes) / 4) === bytes.length,
    "the tables do not end with the segment",
  );
  const tables = readTables(readJson(bytes, tablesAt, tablesBytes, "the segment"), "the segment", 0x7fff);
  check(tables.trees.length === words[SegmentHeader.trees], "the tables have other trees than the header");
  return { ...sections, tables };
}

/** The layout of a segment that this program compiled, without a check. */
export function layoutOf(bytes: Uint8Array, termsBytes: number, tables: SegmentTables): SegmentLayout {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, SEGMENT_WORDS);
  return { ...sectionsOf(words, termsBytes), tables };
}

function sectionsOf(words: Uint32Array, termsBytes: number): Omit<SegmentLayout, "tables"> {
  const heapEnd = words[SegmentHeader.heapEnd]!;
  const terms = words[SegmentHeader.terms]!;
  return {
    names: words[SegmentHeader.names]!,
    ...{ heapEnd, terms, slotsAt: heapEnd + terms * termsBytes },
    ...{ slots: words[SegmentHeader.slots]!, seed: words[SegmentHeader.seed]! },
  };
}

/**
 * Checks terms, names, record blocks and slots.
 * @throws {FormatError} for anything that a lookup could follow out of the segment, or for ever
 */
export function checkNames(bytes: Uint8Array, layout: SegmentLayout): void {
  const { names, terms, heapEnd, tables } = layout;
  for (let index = 0; index < terms; index++) {
    const leaseGroup = read16(bytes, heapEnd + index * TERMS_BYTES + 4);
    check(leaseGroup < tables.leaseGroups.length, "a set has an unknown lease group");
  }
  const checks = new NameChecks(bytes, layout);
  let count = 0;
  for (let name = HEAP_START; name < heapEnd; count++) name = checks.check(name);
  check(count === names, `there are ${count} names and not ${names}`);
  checks.checkTargets();
  checkSlots(bytes, layout, (offset) => checks.isName(offset));
}

/** Checks what slots refer to, and that one slot is empty, at which a search ends. */
export function checkSlots(
  bytes: Uint8Array,
  { slots, slotsAt, heapEnd }: SegmentLayout,
  isEntry: (offset: number) => boolean,
): void {
  const width = slotBytes(heapEnd);
  const offsets = 2 ** offsetBits(heapEnd) - 1;
  let isFull = true;
  for (let at = slotsAt; at < slotsAt + slots * width; at += width) {
    const slot = readSlot(bytes, at, width);
    if (slot === 0) isFull = false;
    else check(isEntry(slot & offsets), "a slot refers to nothing");
  }
  check(!isFull, "no slot is empty");
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
  check(end <= heapEnd, `a run of ${length} bytes ends outside the heap`);
  for (let at = run + 1; at < end; ) at += 1 + labelAt(bytes, at, end);
  return length;
}

/** Checks names and their record blocks, one after the other. */
class NameChecks {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #tables: SegmentTables;
  /** By a quarter of a name's offset: the lowest two bits of the offset and 1. No name is shorter than 4 bytes. */
  readonly #names: Uint8Array;
  /** By a quarter of a name's offset: the length of its name. */
  readonly #nameBytes: Uint8Array;
  readonly #blocks: BlockChecks;

  constructor(bytes: Uint8Array, { heapEnd, terms, tables }: SegmentLayout) {
    this.#bytes = bytes;
    this.#end = heapEnd;
    this.#tables = tables;
    this.#blocks = new BlockChecks(bytes, { end: heapEnd, terms, views: tables.views.length });
    this.#names = new Uint8Array((heapEnd >> 2) + 1);
    this.#nameBytes = new Uint8Array((heapEnd >> 2) + 1);
  }

  /** Whether a name starts at an offset. */
  isName(offset: number): boolean {
    return offset >= HEAP_START && this.#names[offset >> 2] === (offset & 3) + 1;
  }

  /** @throws {FormatError} if an SRV record has a target that is no name */
  checkTargets(): void {
    for (const target of this.#blocks.targets)
      check(this.isName(target), "an SRV record has an unknown target");
  }

  /** Checks a name. @returns the offset after it */
  check(name: number): number {
    const bytes = this.#bytes;
    const form = bytes[name]!;
    check((form & ~ALL_FORMS) === 0, "a name has an unknown form");
    const run = runOf(bytes, name);
    check(run < this.#end, "a name ends outside the heap");
    let above = 0;
    if (isTop(bytes, name))
      check(treeOfTop(bytes, name) < this.#tables.trees.length, "a name has an unknown tree");
    else {
      const parent = name - distanceToParent(bytes, name);
      check(parent < name && this.isName(parent), "a parent is no name in front of its child");
      above = this.#nameBytes[parent >> 2]!;
    }
    const length = checkRun(bytes, run, this.#end);
    check(length > 0 || isTop(bytes, name), "a run of 0 bytes is empty");
    check(above + length < MAX_NAME_BYTES, "a name is too long");
    this.#names[name >> 2] = (name & 3) + 1;
    this.#nameBytes[name >> 2] = above + length;
    const block = run + 1 + length;
    if ((form & NameForm.records) === 0) return block;
    return this.#blocks.check(block, (form & NameForm.variants) !== 0);
  }
}
