import { align, CapacityError, createBlob, writeJson } from "./blob.ts";
import type { KeyBlock } from "./blocks/key-block.ts";
import { HeapWriter } from "./heap-writer.ts";
import { BlobKind, HEAP_START, NODE_WORDS, SegmentHeader, type SegmentTables } from "./layout.ts";
import { NodeTable } from "./node-table.ts";
import type { RecordSets } from "./record-sets.ts";
import type { SeededSlots } from "./slots.ts";
import type { TreeKey } from "./tree-key.ts";

const NO_VARIANTS: ReadonlyMap<number, RecordSets> = new Map();
const MOST_ENTRIES = 0xffff;

/** The tables of a segment while it is built: what they name gets its index when it is used first. */
export class TableBuilder {
  readonly #trees: readonly TreeKey[];
  readonly #views = new Map<string, number>();
  readonly #leaseGroups = new Map<string, number>([["", 0]]);
  readonly #leaseMembers: (readonly string[])[] = [[]];

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

  finish(): SegmentTables {
    return {
      trees: this.#trees,
      views: this.viewNames(),
      leaseGroups: this.#leaseMembers,
    };
  }
}

function intern(into: Map<string, number>, key: string, kind: string): number {
  const known = into.get(key);
  if (known !== undefined) return known;
  if (into.size >= MOST_ENTRIES)
    throw new CapacityError(`a segment holds at most ${MOST_ENTRIES} ${kind}; ${key} is one more`);
  into.set(key, into.size);
  return into.size - 1;
}

/** Collects the names and RRsets of a key, or of the stems, which it packs into the bytes of a segment. Equal calls give equal bytes. */
export class SegmentBuilder {
  readonly heap = new HeapWriter();
  readonly tables: TableBuilder;
  readonly nodes: NodeTable;
  readonly #trees: readonly TreeKey[];

  /** @param trees their keys, in the order of their indices; the apex of tree n is node n */
  constructor(trees: readonly TreeKey[]) {
    this.#trees = trees;
    this.tables = new TableBuilder(trees);
    this.nodes = new NodeTable(this.heap, trees);
  }

  /** Writes the record block of a node: the sets of all views, and the sets that replace them in single views. */
  setRecords(node: number, sets: RecordSets, variants: ReadonlyMap<number, RecordSets> = NO_VARIANTS): void {
    const { heap } = this;
    this.nodes.setRecords(node, heap.length);
    sets.write(heap);
    heap.writeCount(variants.size);
    // Indices of views are other ones in each segment; names are not.
    const names = variants.size > 1 ? this.tables.viewNames() : [];
    for (const [view, own] of [...variants].sort(([one], [other]) =>
      names[one]! < names[other]! ? -1 : 1,
    )) {
      heap.write16(view);
      own.write(heap);
    }
  }

  /** What was built for a key, to be joined with other keys to a segment; valid until the next change. */
  block(): KeyBlock {
    const { trees, views, leaseGroups } = this.tables.finish();
    const { bytes } = this.heap;
    const { nodes } = this.nodes.sections();
    return {
      source: { bytes, nodes, trees, views, leaseGroups },
      ...{ firstNode: trees.length, nodeEnd: this.nodes.count, heapStart: HEAP_START, heapEnd: bytes.length },
    };
  }

  finish(): Uint8Array<ArrayBuffer> {
    const { nodes, slots, seed } = this.nodes.sections();
    const tables = { ...this.tables.finish(), trees: this.#trees };
    return packSegment(BlobKind.segment, this.heap, nodes, { slots, seed }, tables);
  }
}

/** The bytes of a segment: header, heap, nodes, slots, tables. */
export function packSegment(
  kind: number,
  heap: Pick<HeapWriter, "bytes" | "length">,
  nodes: Uint32Array,
  { slots, seed }: SeededSlots,
  tables: SegmentTables,
): Uint8Array<ArrayBuffer> {
  const json = writeJson(tables);
  const start = align(heap.length);
  const { bytes, words } = createBlob(kind, start + 4 * (nodes.length + slots.length) + json.length);
  bytes.set(heap.bytes.subarray(HEAP_START), HEAP_START);
  const slotsAt = (start >> 2) + nodes.length;
  words.set(nodes, start >> 2);
  words.set(slots, slotsAt);
  bytes.set(json, 4 * (slotsAt + slots.length));
  words[SegmentHeader.heapEnd] = heap.length;
  words[SegmentHeader.trees] = tables.trees.length;
  words[SegmentHeader.nodes] = nodes.length / NODE_WORDS;
  words[SegmentHeader.slots] = slots.length;
  words[SegmentHeader.tablesBytes] = json.length;
  words[SegmentHeader.seed] = seed;
  return bytes;
}
