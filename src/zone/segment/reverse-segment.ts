import { MAX_NAME_BYTES } from "../../dns/codes.ts";
import { addressLabel } from "../kinds/service-labels.ts";
import { check, readBlob } from "./blob.ts";
import {
  ADDRESS_LABEL,
  ANY_ASKER,
  BlobKind,
  HEAP_START,
  LONG_COUNT,
  type SegmentTables,
  TARGET_HEADER_BYTES,
} from "./layout.ts";
import { hashAddress, spread } from "./name-hash.ts";
import { countEnd, read16, readCount } from "./record-block.ts";
import { indexByName } from "./segment.ts";
import { checkSlots, labelAt, readLayout, type SegmentLayout } from "./segment-checks.ts";
import type { TreeKey } from "./tree-key.ts";

/** The PTR targets of some addresses, as immutable bytes (layout.ts). */
export class ReverseSegment {
  /** The name of these bytes, see hash.ts. */
  readonly hash: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly trees: readonly TreeKey[];
  readonly leaseGroups: readonly (readonly string[])[];
  /** TTLs in seconds. */
  readonly ttls: readonly number[];
  readonly #slots: Uint32Array;
  readonly #viewIndex: ReadonlyMap<string, number>;

  private constructor(
    bytes: Uint8Array<ArrayBuffer>,
    hash: string,
    slots: Uint32Array,
    { trees, views, leaseGroups, ttls }: SegmentTables,
  ) {
    this.bytes = bytes;
    this.hash = hash;
    this.trees = trees;
    this.leaseGroups = leaseGroups;
    this.ttls = ttls;
    this.#slots = slots;
    this.#viewIndex = indexByName(views);
  }

  /**
   * Loads bytes without copying them, see `Segment.load`.
   * @throws {FormatError} for bytes that are not a well-formed reverse segment
   */
  static load(bytes: Uint8Array<ArrayBuffer>, hash: string): ReverseSegment {
    const words = readBlob(bytes, BlobKind.reverse, "a reverse segment");
    const layout = readLayout(bytes, words, 0);
    check(layout.nodes === 0, "a reverse segment has no nodes");
    checkSlots(words, layout.sectionsAt, layout.slots, layout.heapEnd);
    const slots = words.subarray(layout.sectionsAt, layout.sectionsAt + layout.slots);
    let checked = 0;
    for (const entry of slots) if (entry !== 0) checked += checkEntry(bytes, entry, layout);
    check(checked <= bytes.length, "reverse entries overlap");
    return new ReverseSegment(bytes, hash, slots, layout.tables);
  }

  /** The offset of the target of an address for a view by its name, or 0. */
  find(octets: Uint8Array, length: number, view: string | undefined): number {
    const { bytes } = this;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = spread(hashAddress(octets, 0, length)) & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot]!;
      if (entry === 0) return 0;
      if (bytes[entry] !== length) continue;
      let index = 0;
      while (index < length && bytes[entry + 1 + index] === octets[index]) index++;
      if (index === length) return this.#targetFor(entry + 1 + length, view);
    }
  }

  #targetFor(targets: number, view: string | undefined): number {
    const { bytes } = this;
    const index = view === undefined ? undefined : this.#viewIndex.get(view);
    const asker = index === undefined ? ANY_ASKER : index + 1;
    let forAnyone = 0;
    let target = countEnd(bytes, targets);
    for (let left = readCount(bytes, targets); left > 0; left--, target = targetEnd(bytes, target)) {
      const own = read16(bytes, target);
      if (own === asker) return target;
      if (own === ANY_ASKER) forAnyone = target;
    }
    return forAnyone;
  }

  /** The tree in which a target is a name. */
  treeOf(target: number): TreeKey {
    return this.trees[read16(this.bytes, target + 5) & ~ADDRESS_LABEL]!;
  }

  /** The name of a target, relative to its tree: labels with their length bytes. @param octets the address */
  nameOf(target: number, octets: Uint8Array): Uint8Array {
    const { bytes } = this;
    const labels = bytes.subarray(target + TARGET_HEADER_BYTES, targetEnd(bytes, target));
    if ((read16(bytes, target + 5) & ADDRESS_LABEL) === 0) return labels;
    const label = addressLabel(octets);
    const name = new Uint8Array(1 + label.length + labels.length);
    name[0] = label.length;
    for (let index = 0; index < label.length; index++) name[1 + index] = label.charCodeAt(index);
    name.set(labels, 1 + label.length);
    return name;
  }

  /** All addresses, in the order of the slots. They are only lent. */
  *addresses(): Generator<Uint8Array> {
    for (const entry of this.#slots)
      if (entry !== 0) yield this.bytes.subarray(entry + 1, entry + 1 + this.bytes[entry]!);
  }
}

function targetEnd(bytes: Uint8Array, target: number): number {
  return target + TARGET_HEADER_BYTES + bytes[target + 7]!;
}

/** @returns the length of the entry in bytes */
function checkEntry(bytes: Uint8Array, entry: number, { heapEnd, tables }: SegmentLayout): number {
  const outside = "a reverse entry ends outside the heap";
  check(entry >= HEAP_START && entry < heapEnd, outside);
  const length = bytes[entry]!;
  check(length === 4 || length === 16, "an address has neither 4 nor 16 bytes");
  const targets = entry + 1 + length;
  check(targets + (bytes[targets] === LONG_COUNT ? 3 : 1) <= heapEnd, outside);
  const label = addressLabel(bytes.subarray(entry + 1, targets));
  let at = countEnd(bytes, targets);
  for (let left = readCount(bytes, targets); left > 0; left--) {
    check(at + TARGET_HEADER_BYTES <= heapEnd, outside);
    const tree = read16(bytes, at + 5);
    check(read16(bytes, at) <= tables.views.length, "a reverse target has an unknown view");
    check(bytes[at + 2]! < tables.ttls.length, "a reverse target has an unknown TTL");
    check(read16(bytes, at + 3) < tables.leaseGroups.length, "a reverse target has an unknown lease group");
    check((tree & ~ADDRESS_LABEL) < tables.trees.length, "a reverse target has an unknown tree");
    const end = targetEnd(bytes, at);
    check(end <= heapEnd, outside);
    const labelBytes = (tree & ADDRESS_LABEL) === 0 ? 0 : 1 + label.length;
    check(bytes[at + 7]! + labelBytes < MAX_NAME_BYTES, "the name of a reverse target is too long");
    for (at += TARGET_HEADER_BYTES; at < end; ) at += 1 + labelAt(bytes, at, end);
  }
  return at - entry;
}
