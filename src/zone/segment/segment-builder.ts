import { RecordType } from "../../dns/codes.ts";
import type { Pace } from "../pace.ts";
import type { KeyBlock } from "./blocks/key-block.ts";
import { parentForm } from "./blocks/names.ts";
import { NodeTable } from "./blocks/node-table.ts";
import { HeapWriter } from "./heap-writer.ts";
import { BELOW_APEX, HEAP_START, NameForm } from "./layout.ts";
import { blockEnd, countEnd, fixedDataBytes, read32, recordsOf, setEnd } from "./record-block.ts";
import type { RecordSets } from "./record-sets.ts";
import { TableBuilder } from "./table-builder.ts";
import type { TreeKey } from "./tree-key.ts";

const NO_VARIANTS: ReadonlyMap<number, RecordSets> = new Map();
/** Bytes of an SRV record, and in front of its target. */
const SRV_BYTES = fixedDataBytes(RecordType.SRV);
const PORT_BYTES = 2;

/** Collects the names and RRsets of a key, or of the stems. Equal calls give equal bytes. */
export class SegmentBuilder {
  readonly tables: TableBuilder;
  readonly nodes: NodeTable;
  /** Runs and record blocks, in the order in which they came; the targets of SRV records are nodes. */
  readonly #heap = new HeapWriter();
  readonly #trees: readonly TreeKey[];

  /** @param trees their keys, in the order of their indices; the apex of tree n is node n */
  constructor(trees: readonly TreeKey[]) {
    this.#trees = trees;
    this.tables = new TableBuilder(trees);
    this.nodes = new NodeTable(this.#heap, trees);
  }

  /** Writes the record block of a node: the sets of all views, and the sets that replace them in single views. */
  setRecords(node: number, sets: RecordSets, variants: ReadonlyMap<number, RecordSets> = NO_VARIANTS): void {
    const { nodes, tables } = this;
    const heap = this.#heap;
    nodes.setRecords(node, heap.length);
    sets.write(heap, tables);
    if (variants.size === 0) return;
    nodes.addFlags(node, NameForm.variants);
    heap.writeCount(variants.size);
    // Indices of views are other ones in each segment; names are not.
    const names = tables.viewNames();
    for (const [view, own] of [...variants].sort(([one], [other]) =>
      names[one]! < names[other]! ? -1 : 1,
    )) {
      heap.write16(view);
      own.write(heap, tables);
    }
  }

  /** The names that were built, in steps, to be joined with those of other keys to a segment. @param withApexes whether the apexes are names, too */
  *block(pace: Pace, withApexes = false): Generator<void, KeyBlock> {
    const { nodes, tables } = this;
    const from = this.#heap.buffer;
    const into = new HeapWriter(HEAP_START + this.#heap.length + 4 * nodes.count);
    const starts = new Uint32Array(nodes.count);
    const services: number[] = [];
    for (let node = withApexes ? 0 : this.#trees.length; node < nodes.count; node++) {
      const start = into.length;
      starts[node] = start;
      this.#writeHead(into, node, starts);
      const block = nodes.recordsOf(node);
      if (block !== 0) {
        const hasVariants = nodes.hasFlag(node, NameForm.variants);
        const end = blockEnd(from, block, hasVariants);
        addServices(services, from, { block, end, hasVariants }, into.length - block);
        into.writeRange(from, block, end);
      }
      if (pace.isOver(1 + ((into.length - start) >> 4))) yield;
    }
    for (const record of services) {
      const target = record + PORT_BYTES;
      into.put32(target, starts[read32(into.buffer, target)]! - record);
      if (pace.isOver(1)) yield;
    }
    const source = { ...tables.finish(), bytes: into.bytes, terms: tables.termsList };
    return { source, start: HEAP_START, end: into.length };
  }

  #writeHead(into: HeapWriter, node: number, starts: Uint32Array): void {
    const { nodes } = this;
    const start = into.length;
    const isApex = node < this.#trees.length;
    const parent = isApex ? node : nodes.parentOf(node);
    const isBelowApex = parent < this.#trees.length;
    const distance = isBelowApex ? 0 : start - starts[parent]!;
    const form = isBelowApex ? BELOW_APEX : parentForm(distance);
    into.write8(nodes.flagsOf(node) | (nodes.hasRecords(node) ? NameForm.records : 0) | form);
    if (isBelowApex) into.write16(parent);
    else if (form === 1) into.write8(distance);
    else if (form === 2) into.write16(distance);
    else into.write32(distance);
    const run = nodes.runOf(node);
    const heap = this.#heap.buffer;
    if (isApex) into.write8(0);
    else into.writeRange(heap, run, run + 1 + heap[run]!);
  }
}

/** Adds the offsets of the SRV records of a block where it is copied to. */
function addServices(
  to: number[],
  heap: Uint8Array,
  {
    block,
    end,
    hasVariants,
  }: { readonly block: number; readonly end: number; readonly hasVariants: boolean },
  moved: number,
): void {
  const addList = (list: number) => {
    let set = list + 1;
    for (let left = heap[list]!; left > 0; left--) {
      const next = setEnd(heap, set);
      if (heap[set] === RecordType.SRV)
        for (let record = recordsOf(heap, set); record < next; record += SRV_BYTES) to.push(record + moved);
      set = next;
    }
    return set;
  };
  let at = addList(block);
  if (!hasVariants) return;
  at = countEnd(heap, at);
  while (at < end) at = addList(at + 2);
}
