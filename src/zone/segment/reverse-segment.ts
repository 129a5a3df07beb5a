import { MAX_NAME_BYTES } from "../../dns/codes.ts";
import { addressLabel } from "../kinds/service-labels.ts";
import { align, check, readBlob } from "./blob.ts";
import {
  ADDRESS_LABEL,
  ANY_VIEW,
  BlobKind,
  HEAP_START,
  LONG_COUNT,
  MOST_PROBES,
  SegmentHeader,
  type SegmentTables,
  SLOT_ENTRY,
  TARGET_HEADER_BYTES,
  TargetField,
} from "./layout.ts";
import { hashAddress } from "./name-hash.ts";
import { countEnd, read16, readCount } from "./record-block.ts";
import { indexByName } from "./segment.ts";
import { checkSlots, labelAt, readLayout, type SegmentLayout } from "./segment-checks.ts";
import { mayHave } from "./slots.ts";
import type { TreeKey } from "./tree-key.ts";

/** The PTR targets of some addresses, as immutable bytes (layout.ts). */
export class ReverseSegment {
  /** The branch to itself, see `Segment`. */
  segment: ReverseSegment | undefined = this;
  readonly page = undefined;
  readonly kind = "segment";
  /** The name of these bytes, see hash.ts. */
  readonly hash: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly trees: readonly TreeKey[];
  readonly views: readonly string[];
  readonly leaseGroups: readonly (readonly string[])[];
  readonly #slots: Uint32Array;
  readonly #seed: number;
  readonly #viewIndex: ReadonlyMap<string, number>;

  private constructor(
    bytes: Uint8Array<ArrayBuffer>,
    hash: string,
    slots: Uint32Array,
    seed: number,
    { trees, views, leaseGroups }: SegmentTables,
  ) {
    this.bytes = bytes;
    this.hash = hash;
    this.trees = trees;
    this.views = views;
    this.leaseGroups = leaseGroups;
    this.#slots = slots;
    this.#seed = seed;
    this.#viewIndex = indexByName(views);
  }

  /**
   * Loads bytes without copying them, see `Segment.load`.
   * @throws {FormatError} for bytes that are not a well-formed reverse segment
   */
  static load(bytes: Uint8Array<ArrayBuffer>, hash: string): ReverseSegment {
    const words = readBlob(bytes, BlobKind.reverse, "a reverse segment");
    const layout = readLayout(bytes, words);
    check(layout.nodes === 0, "a reverse segment has no nodes");
    checkSlots(words, layout.slotsAt, layout.slots, layout.heapEnd);
    const slots = words.subarray(layout.slotsAt, layout.slotsAt + layout.slots);
    let checked = 0;
    for (const slot of slots) if (slot !== 0) checked += checkEntry(bytes, slot & SLOT_ENTRY, layout);
    check(checked <= bytes.length, "reverse entries overlap");
    return new ReverseSegment(bytes, hash, slots, layout.seed, layout.tables);
  }

  /**
   * Bytes that were just built, without checking them. @param tables those of the bytes: the texts in them are shared, since tables that are read
   * take half as much memory as the bytes
   */
  static compiled(bytes: Uint8Array<ArrayBuffer>, hash: string, tables: SegmentTables): ReverseSegment {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
    const slotsAt = align(words[SegmentHeader.heapEnd]!) >> 2;
    const slots = words.subarray(slotsAt, slotsAt + words[SegmentHeader.slots]!);
    return new ReverseSegment(bytes, hash, slots, words[SegmentHeader.seed]!, tables);
  }

  /** The offset of the target of an address for a view by its name, or 0. */
  find(bytes: Uint8Array, length: number, view: string | undefined): number {
    const entry = this.entryOf(bytes, length);
    return entry === 0 ? 0 : this.#targetFor(entry + 1 + length, view);
  }

  /** The offset of the entry of an address, or 0. */
  entryOf(address: Uint8Array, length: number): number {
    const { bytes } = this;
    const slots = this.#slots;
    const mask = slots.length - 1;
    const hash = hashAddress(address, length, this.#seed);
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const slot = slots[(hash + probe) & mask]!;
      if (slot === 0) return 0;
      const entry = slot & SLOT_ENTRY;
      if (!mayHave(slot, hash) || bytes[entry] !== length) continue;
      let index = 0;
      while (index < length && bytes[entry + 1 + index] === address[index]) index++;
      if (index === length) return entry;
    }
    return 0;
  }

  #targetFor(targets: number, view: string | undefined): number {
    const { bytes } = this;
    const index = view === undefined ? undefined : this.#viewIndex.get(view);
    const viewNumber = index === undefined ? ANY_VIEW : index + 1;
    let forAllViews = 0;
    let target = countEnd(bytes, targets);
    for (let left = readCount(bytes, targets); left > 0; left--, target = targetEnd(bytes, target)) {
      const own = read16(bytes, target);
      if (own === viewNumber) return target;
      if (own === ANY_VIEW) forAllViews = target;
    }
    return forAllViews;
  }

  /** The offset of the first target of an entry. */
  firstTarget(entry: number): number {
    return countEnd(this.bytes, entry + 1 + this.bytes[entry]!);
  }

  /** The offset after an entry. */
  entryEnd(entry: number): number {
    const { bytes } = this;
    let at = this.firstTarget(entry);
    for (let left = readCount(bytes, entry + 1 + bytes[entry]!); left > 0; left--) at = targetEnd(bytes, at);
    return at;
  }

  /** The first label of a target's name; undefined for the address with dashes. */
  labelOf(target: number): string | undefined {
    const { bytes } = this;
    if ((read16(bytes, target + TargetField.tree) & ADDRESS_LABEL) !== 0) return undefined;
    const start = target + TARGET_HEADER_BYTES + 1;
    let label = "";
    for (let at = start; at < start + bytes[start - 1]!; at++) label += String.fromCharCode(bytes[at]!);
    return label;
  }

  /** The tree in which a target is a name. */
  treeOf(target: number): TreeKey {
    return this.trees[read16(this.bytes, target + TargetField.tree) & ~ADDRESS_LABEL]!;
  }

  /** The name of a target, relative to its tree: labels with their length bytes. @param address the address */
  nameOf(target: number, address: Uint8Array): Uint8Array {
    const { bytes } = this;
    const labels = bytes.subarray(target + TARGET_HEADER_BYTES, targetEnd(bytes, target));
    if ((read16(bytes, target + TargetField.tree) & ADDRESS_LABEL) === 0) return labels;
    const label = addressLabel(address);
    const name = new Uint8Array(1 + label.length + labels.length);
    name[0] = label.length;
    for (let index = 0; index < label.length; index++) name[1 + index] = label.charCodeAt(index);
    name.set(labels, 1 + label.length);
    return name;
  }

  /** All addresses, in the order of the slots. They are only lent. */
  *addresses(): Generator<Uint8Array> {
    for (const slot of this.#slots) {
      const entry = slot & SLOT_ENTRY;
      if (entry !== 0) yield this.bytes.subarray(entry + 1, entry + 1 + this.bytes[entry]!);
    }
  }
}

/** The offset after a target. */
export function targetEnd(bytes: Uint8Array, target: number): number {
  return target + TARGET_HEADER_BYTES + bytes[target + TargetField.labelBytes]!;
}

/** @returns the length of the entry in bytes */
function checkEntry(bytes: Uint8Array, entry: number, { heapEnd, tables }: SegmentLayout): number {
  const outside = "a reverse entry ends outside the heap";
  check(entry >= HEAP_START && entry < heapEnd, outside);
  const length = bytes[entry]!;
  check(length === 4 || length === 16, "an address has neither 4 nor 16 bytes");
  const targets = entry + 1 + length;
  check(targets + (bytes[targets] === LONG_COUNT ? 3 : 1) <= heapEnd, outside);
  let at = countEnd(bytes, targets);
  for (let left = readCount(bytes, targets); left > 0; left--) {
    check(at + TARGET_HEADER_BYTES <= heapEnd, outside);
    const tree = read16(bytes, at + TargetField.tree);
    check(read16(bytes, at) <= tables.views.length, "a reverse target has an unknown view");
    const leaseGroup = read16(bytes, at + TargetField.leaseGroup);
    check(leaseGroup < tables.leaseGroups.length, "a reverse target has an unknown lease group");
    check((tree & ~ADDRESS_LABEL) < tables.trees.length, "a reverse target has an unknown tree");
    const end = targetEnd(bytes, at);
    check(end <= heapEnd, outside);
    const labelBytes =
      (tree & ADDRESS_LABEL) === 0 ? 0 : 1 + addressLabel(bytes.subarray(entry + 1, targets)).length;
    check(
      bytes[at + TargetField.labelBytes]! + labelBytes < MAX_NAME_BYTES,
      "the name of a reverse target is too long",
    );
    for (at += TARGET_HEADER_BYTES; at < end; ) at += 1 + labelAt(bytes, at, end);
  }
  return at - entry;
}
