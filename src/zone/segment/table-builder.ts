import { align, CapacityError, createBlob, writeJson } from "./blob.ts";
import { HEAP_START, SegmentHeader, type SegmentTables, TERMS_BYTES } from "./layout.ts";
import { read16, read32, write16, write32 } from "./record-block.ts";
import type { SeededSlots } from "./slots.ts";
import type { TreeKey } from "./tree-key.ts";

const MOST_ENTRIES = 0xffff;

/** TTL and lease group of sets. */
export interface Terms {
  /** In seconds, with KEEP_ORDER if the order of records matters. */
  readonly ttl: number;
  readonly leaseGroup: number;
}

/** The tables of a segment while it is built: what they name gets its index when it is used first. */
export class TableBuilder {
  readonly #trees: readonly TreeKey[];
  readonly #views = new Map<string, number>();
  readonly #leaseGroups = new Map<string, number>([["", 0]]);
  readonly #leaseMembers: (readonly string[])[] = [[]];
  readonly #terms = new Map<number, number>();
  readonly #termsList: Terms[] = [];

  /** @param trees their keys, in the order of their indices */
  constructor(trees: readonly TreeKey[]) {
    this.#trees = trees;
  }

  /** The index of a tree. */
  tree(key: TreeKey): number {
    return this.#trees.indexOf(key);
  }

  /** The index of a view. */
  view(name: string): number {
    return intern(this.#views, name, "views");
  }

  /** The names of the views, by their indices. */
  viewNames(): readonly string[] {
    return [...this.#views.keys()];
  }

  /** The index of the lease group of these clusters. */
  leaseGroup(clusterIds: readonly string[]): number {
    const isOne = clusterIds.length === 1;
    const members = isOne ? clusterIds : [...new Set(clusterIds)].sort();
    const group = intern(this.#leaseGroups, isOne ? members[0]! : members.join(" "), "sets of clusters");
    if (group === this.#leaseMembers.length) this.#leaseMembers.push(members);
    return group;
  }

  /** The index of the terms with a TTL and a lease group. */
  terms(ttl: number, leaseGroup: number): number {
    const index = intern(this.#terms, (ttl >>> 0) * 0x10000 + leaseGroup, "terms of sets");
    if (index === this.#termsList.length) this.#termsList.push({ ttl: ttl >>> 0, leaseGroup });
    return index;
  }

  /** All terms, by their indices. */
  get termsList(): readonly Terms[] {
    return this.#termsList;
  }

  finish(): SegmentTables {
    return {
      trees: this.#trees,
      views: this.viewNames(),
      leaseGroups: this.#leaseMembers,
    };
  }
}

/** The terms of a segment as bytes. */
export function writeTerms(terms: readonly Terms[]): Uint8Array {
  const bytes = new Uint8Array(terms.length * TERMS_BYTES);
  for (const [index, { ttl, leaseGroup }] of terms.entries()) {
    write32(bytes, index * TERMS_BYTES, ttl);
    write16(bytes, index * TERMS_BYTES + 4, leaseGroup);
  }
  return bytes;
}

/** The terms of a segment, from its bytes. */
export function readTerms(bytes: Uint8Array, at: number, count: number): Terms[] {
  return Array.from({ length: count }, (_, index) => ({
    ttl: read32(bytes, at + index * TERMS_BYTES),
    leaseGroup: read16(bytes, at + index * TERMS_BYTES + 4),
  }));
}

/** The index of a value in a table, to which it is added when it is used first. @throws {CapacityError} if the table is full */
export function intern<Key extends string | number>(into: Map<Key, number>, key: Key, kind: string): number {
  const known = into.get(key);
  if (known !== undefined) return known;
  if (into.size >= MOST_ENTRIES)
    throw new CapacityError(`a segment holds at most ${MOST_ENTRIES} ${kind}; ${key} is one more`);
  into.set(key, into.size);
  return into.size - 1;
}

/** What a segment consists of. */
export interface SegmentParts {
  /** With room for the header in front. */
  readonly heap: Uint8Array;
  /** The number of names. */
  readonly names: number;
  readonly terms: Uint8Array;
  /** Bytes of one of the terms. */
  readonly termsBytes: number;
  readonly slots: SeededSlots;
  readonly tables: SegmentTables;
}

/** The bytes of a segment: header, heap, terms, slots, tables. */
export function packSegment(
  kind: number,
  { heap, names, terms, termsBytes, slots, tables }: SegmentParts,
): Uint8Array<ArrayBuffer> {
  const json = writeJson(tables);
  const slotsAt = heap.length + terms.length;
  const tablesAt = align(slotsAt + slots.slots.length);
  const { bytes, words } = createBlob(kind, tablesAt + json.length);
  bytes.set(heap.subarray(HEAP_START), HEAP_START);
  bytes.set(terms, heap.length);
  bytes.set(slots.slots, slotsAt);
  bytes.set(json, tablesAt);
  words[SegmentHeader.heapEnd] = heap.length;
  words[SegmentHeader.trees] = tables.trees.length;
  words[SegmentHeader.names] = names;
  words[SegmentHeader.terms] = terms.length / termsBytes;
  words[SegmentHeader.slots] = slots.count;
  words[SegmentHeader.tablesBytes] = json.length;
  words[SegmentHeader.seed] = slots.seed;
  return bytes;
}
