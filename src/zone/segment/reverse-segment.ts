import { MAX_NAME_BYTES } from "../../dns/codes.ts";
import { addressLabel, clusterIdLabels } from "../kinds/service-labels.ts";
import { check, readBlob } from "./blob.ts";
import {
  ANY_VIEW,
  BlobKind,
  HEAP_START,
  LONG_COUNT,
  MOST_PROBES,
  REVERSE_TERMS_BYTES,
  type SegmentTables,
  TARGET_HEADER_BYTES,
  TargetField,
  TargetForm,
} from "./layout.ts";
import { hashAddress } from "./name-hash.ts";
import { countEnd, read16, read32, readCount } from "./record-block.ts";
import { indexByName } from "./segment.ts";
import { checkSlots, labelAt, layoutOf, readLayout, type SegmentLayout } from "./segment-checks.ts";
import { firstSlot, offsetBits, readSlot, slotBytes } from "./slots.ts";
import type { TreeKey } from "./tree-key.ts";

const ALL_FORMS = TargetForm.address | TargetForm.cluster;

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
  readonly #layout: SegmentLayout;
  readonly #viewIndex: ReadonlyMap<string, number>;

  private constructor(bytes: Uint8Array<ArrayBuffer>, hash: string, layout: SegmentLayout) {
    const { trees, views, leaseGroups } = layout.tables;
    this.bytes = bytes;
    this.hash = hash;
    this.trees = trees;
    this.views = views;
    this.leaseGroups = leaseGroups;
    this.#layout = layout;
    this.#viewIndex = indexByName(views);
  }

  /**
   * Loads bytes without copying them, see `Segment.load`.
   * @throws {FormatError} for bytes that are not a well-formed reverse segment
   */
  static load(bytes: Uint8Array<ArrayBuffer>, hash: string): ReverseSegment {
    const words = readBlob(bytes, BlobKind.reverse, "a reverse segment");
    const layout = readLayout(bytes, words, REVERSE_TERMS_BYTES);
    checkTerms(bytes, layout);
    const starts = new Set<number>();
    for (let entry = HEAP_START; entry < layout.heapEnd; ) {
      starts.add(entry);
      entry = checkEntry(bytes, entry, layout);
    }
    check(starts.size === layout.names, `there are ${starts.size} addresses and not ${layout.names}`);
    checkSlots(bytes, layout, (offset) => starts.has(offset));
    return new ReverseSegment(bytes, hash, layout);
  }

  /**
   * Bytes that were just built, without checking them. @param tables those of the bytes: the texts in them are shared, since tables that are read
   * take half as much memory as the bytes
   */
  static compiled(bytes: Uint8Array<ArrayBuffer>, hash: string, tables: SegmentTables): ReverseSegment {
    return new ReverseSegment(bytes, hash, layoutOf(bytes, REVERSE_TERMS_BYTES, tables));
  }

  /** As `Segment.trusted`. @throws {FormatError} for another blob */
  static trusted(bytes: Uint8Array<ArrayBuffer>, hash: string): ReverseSegment {
    const words = readBlob(bytes, BlobKind.reverse, "a reverse segment");
    return new ReverseSegment(bytes, hash, readLayout(bytes, words, REVERSE_TERMS_BYTES));
  }

  /** The offset of the target of an address for a view by its name, or 0. */
  find(bytes: Uint8Array, length: number, view: string | undefined): number {
    const entry = this.entryOf(bytes, length);
    return entry === 0 ? 0 : this.#targetFor(entry + 1 + length, view);
  }

  /** The offset of the entry of an address, or 0. */
  entryOf(address: Uint8Array, length: number): number {
    const { bytes } = this;
    const { slots, slotsAt, seed, heapEnd } = this.#layout;
    const width = slotBytes(heapEnd);
    const offsets = 2 ** offsetBits(heapEnd) - 1;
    const hash = hashAddress(address, length, seed);
    let slot = firstSlot(hash, slots);
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const found = readSlot(bytes, slotsAt + slot * width, width);
      if (found === 0) return 0;
      const entry = found & offsets;
      if (isEntryOf(bytes, entry, address, length)) return entry;
      slot = slot + 1 === slots ? 0 : slot + 1;
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
      const own = this.viewOf(target);
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

  #termsOf(target: number): number {
    return this.#layout.heapEnd + REVERSE_TERMS_BYTES * read16(this.bytes, target);
  }

  /** The view of a target: `ANY_VIEW`, or an index and 1. */
  viewOf(target: number): number {
    return read16(this.bytes, this.#termsOf(target));
  }

  /** The TTL of a target in seconds. */
  ttlOf(target: number): number {
    return read32(this.bytes, this.#termsOf(target) + 2);
  }

  /** The tree in which a target is a name. */
  treeOf(target: number): TreeKey {
    return this.trees[read16(this.bytes, this.#termsOf(target) + 6)]!;
  }

  /** The lease group of a target. */
  leaseGroupOf(target: number): number {
    return read16(this.bytes, target + TargetField.leaseGroup);
  }

  /** The first label of a target's name; undefined for the address with dashes. */
  labelOf(target: number): string | undefined {
    const { bytes } = this;
    if ((bytes[target + TargetField.form]! & TargetForm.address) !== 0) return undefined;
    const start = target + TARGET_HEADER_BYTES + 1;
    let label = "";
    for (let at = start; at < start + bytes[start - 1]!; at++) label += String.fromCharCode(bytes[at]!);
    return label;
  }

  /** The name of a target, relative to its tree: labels with their length bytes. @param address the address */
  nameOf(target: number, address: Uint8Array): Uint8Array {
    const { bytes } = this;
    const form = bytes[target + TargetField.form]!;
    const start = target + TARGET_HEADER_BYTES;
    const end = targetEnd(bytes, target);
    if (form === 0) return bytes.subarray(start, end);
    const isAddress = (form & TargetForm.address) !== 0;
    const first = isAddress
      ? wireOf([addressLabel(address)])
      : bytes.subarray(start, start + 1 + bytes[start]!);
    const cluster = (form & TargetForm.cluster) === 0 ? NO_LABELS : this.#clusterOf(target);
    const others = bytes.subarray(isAddress ? start : start + first.length, end);
    const name = new Uint8Array(first.length + cluster.length + others.length);
    name.set(first);
    name.set(cluster, first.length);
    name.set(others, first.length + cluster.length);
    return name;
  }

  /** The labels of the only cluster of a target's lease group. */
  #clusterOf(target: number): Uint8Array {
    return wireOf(this.leaseGroups[this.leaseGroupOf(target)]![0]!.split("."));
  }

  /** All addresses, in the order of their bytes. They are only lent. */
  *addresses(): Generator<Uint8Array> {
    const { bytes } = this;
    for (let entry = HEAP_START; entry < this.#layout.heapEnd; entry = this.entryEnd(entry))
      yield bytes.subarray(entry + 1, entry + 1 + bytes[entry]!);
  }
}

const NO_LABELS = new Uint8Array();

/** Labels with their length bytes. */
function wireOf(labels: readonly string[]): Uint8Array {
  return Uint8Array.from(
    labels.flatMap((label) => [label.length, ...Array.from(label, (one) => one.charCodeAt(0))]),
  );
}

function isEntryOf(bytes: Uint8Array, entry: number, address: Uint8Array, length: number): boolean {
  if (bytes[entry] !== length) return false;
  let index = 0;
  while (index < length && bytes[entry + 1 + index] === address[index]) index++;
  return index === length;
}

/** The offset after a target. */
export function targetEnd(bytes: Uint8Array, target: number): number {
  return target + TARGET_HEADER_BYTES + bytes[target + TargetField.labelBytes]!;
}

function checkTerms(bytes: Uint8Array, { heapEnd, terms, tables }: SegmentLayout): void {
  for (let at = heapEnd; at < heapEnd + terms * REVERSE_TERMS_BYTES; at += REVERSE_TERMS_BYTES) {
    check(read16(bytes, at) <= tables.views.length, "a reverse target has an unknown view");
    check(read16(bytes, at + 6) < tables.trees.length, "a reverse target has an unknown tree");
  }
}

/** @returns the offset after the entry */
function checkEntry(bytes: Uint8Array, entry: number, { heapEnd, terms, tables }: SegmentLayout): number {
  const outside = "a reverse entry ends outside the heap";
  const length = bytes[entry]!;
  check(length === 4 || length === 16, "an address has neither 4 nor 16 bytes");
  const targets = entry + 1 + length;
  check(targets + (bytes[targets] === LONG_COUNT ? 3 : 1) <= heapEnd, outside);
  let at = countEnd(bytes, targets);
  for (let left = readCount(bytes, targets); left > 0; left--) {
    check(at + TARGET_HEADER_BYTES <= heapEnd, outside);
    check(read16(bytes, at) < terms, "a reverse target has unknown terms");
    const group = tables.leaseGroups[read16(bytes, at + TargetField.leaseGroup)];
    check(group !== undefined, "a reverse target has an unknown lease group");
    const form = bytes[at + TargetField.form]!;
    check((form & ~ALL_FORMS) === 0, "a reverse target has an unknown form");
    const end = targetEnd(bytes, at);
    check(end <= heapEnd, outside);
    let nameBytes = bytes[at + TargetField.labelBytes]!;
    const isAddress = (form & TargetForm.address) !== 0;
    if (isAddress) nameBytes += 1 + addressLabel(bytes.subarray(entry + 1, targets)).length;
    else check(nameBytes > 0, "a reverse target has no first label");
    if ((form & TargetForm.cluster) !== 0) {
      const labels = group.length === 1 ? clusterIdLabels(group[0]!) : undefined;
      check(labels !== undefined, "a reverse target has no labels of a cluster");
      nameBytes += 1 + group[0]!.length;
    }
    check(nameBytes < MAX_NAME_BYTES, "the name of a reverse target is too long");
    for (at += TARGET_HEADER_BYTES; at < end; ) at += 1 + labelAt(bytes, at, end);
  }
  return at;
}
