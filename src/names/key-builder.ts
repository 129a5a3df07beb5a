import { RecordType } from "../dns/codes.ts";
import type { NamesBuilder } from "../zone/kinds/tree-scope.ts";
import { HeapWriter } from "../zone/segment/heap-writer.ts";
import { fixedDataBytes, read32, recordsOf, setEnd } from "../zone/segment/record-block.ts";
import type { RecordSets } from "../zone/segment/record-sets.ts";
import { TableBuilder } from "../zone/segment/table-builder.ts";
import type { TreeKey } from "../zone/segment/tree-key.ts";
import { CompiledKey, KeyForm } from "./compiled-key.ts";

const NO_VARIANTS: ReadonlyMap<number, RecordSets> = new Map();
const SRV_BYTES = fixedDataBytes(RecordType.SRV);
const PORT_BYTES = 2;

interface Node {
  readonly tree: number;
  /** The labels of its relative name, joined by dots. The first spelling is kept. */
  readonly text: string;
  /** The same with letters folded. */
  readonly folded: string;
  sets: RecordSets | undefined;
  variants: ReadonlyMap<number, RecordSets>;
}

/** Collects the names and RRsets of a key. Equal calls give equal bytes. */
export class KeyBuilder implements NamesBuilder {
  readonly tables: TableBuilder;
  readonly nodes = this;
  readonly #trees: readonly TreeKey[];
  /** The apexes of the trees come first; they are no names. */
  readonly #nodes: Node[];
  /** By tree: nodes by folded text. */
  readonly #known: readonly Map<string, number>[];

  /** @param trees their keys; the apex of tree n is node n */
  constructor(trees: readonly TreeKey[]) {
    this.#trees = trees;
    this.tables = new TableBuilder(trees);
    this.#nodes = trees.map((_, tree) => ({
      tree,
      text: "",
      folded: "",
      sets: undefined,
      variants: NO_VARIANTS,
    }));
    this.#known = trees.map(() => new Map());
  }

  /** @param run the labels in between, joined by dots; names in between get no node */
  child(parent: number, run: string): number {
    const above = this.#nodes[parent]!;
    const { tree } = above;
    const text = above.text === "" ? run : `${run}.${above.text}`;
    const folded = text.toLowerCase();
    const known = this.#known[tree]!.get(folded);
    if (known !== undefined) return known;
    this.#known[tree]!.set(folded, this.#nodes.length);
    return this.#nodes.push({ tree, text, folded, sets: undefined, variants: NO_VARIANTS }) - 1;
  }

  /** Whether there is no name. */
  get isEmpty(): boolean {
    return this.#nodes.length === this.#trees.length;
  }

  nameBytes(node: number): number {
    const { length } = this.#nodes[node]!.text;
    return length === 0 ? 0 : length + 1;
  }

  labels(node: number): string[] {
    return this.#nodes[node]!.text.split(".");
  }

  hasRecords(node: number): boolean {
    return this.#nodes[node]!.sets !== undefined;
  }

  setRecords(node: number, sets: RecordSets, variants: ReadonlyMap<number, RecordSets> = NO_VARIANTS): void {
    const own = this.#nodes[node]!;
    own.sets = sets;
    own.variants = variants;
  }

  /** The key. @param withApexes whether the apexes are names of it, too */
  finish(withApexes = false): CompiledKey {
    const nodes = this.#nodes;
    const order = nodes
      .map((node, index) => ({ index, text: orderText(node) }))
      .slice(withApexes ? 0 : this.#trees.length)
      .sort((one, other) => (one.text < other.text ? -1 : 1));
    const heap = new HeapWriter(64 + 64 * order.length);
    const starts = new Uint32Array(nodes.length);
    const offsets = new Uint32Array(order.length);
    /** Offsets of records whose targets are nodes yet. */
    const services: number[] = [];
    for (const [place, { index }] of order.entries()) {
      starts[index] = offsets[place] = heap.length;
      this.#write(heap, nodes[index]!, services);
    }
    const { buffer } = heap;
    for (const record of services)
      heap.put32(record + PORT_BYTES, starts[read32(buffer, record + PORT_BYTES)]! - record);
    return CompiledKey.of({
      heap: heap.bytes,
      offsets,
      terms: this.tables.termsList,
      tables: this.tables.finish(),
    });
  }

  #write(heap: HeapWriter, { tree, text, sets, variants }: Node, services: number[]): void {
    const { tables } = this;
    heap.write8((sets === undefined ? 0 : KeyForm.records) | (variants.size === 0 ? 0 : KeyForm.variants));
    heap.write8(tree);
    writeLabels(heap, text);
    if (sets === undefined) return;
    writeSets(heap, sets, tables, services);
    if (variants.size === 0) return;
    heap.writeCount(variants.size);
    const names = tables.viewNames();
    const byName = [...variants].sort(([one], [other]) => (names[one]! < names[other]! ? -1 : 1));
    for (const [view, own] of byName) {
      heap.write16(view);
      writeSets(heap, own, tables, services);
    }
  }
}

/** Text in the order in which names are: by tree, then length, then folded bytes, since each label comes after the character with its length. */
function orderText({ tree, folded }: Node): string {
  let text = String.fromCharCode(tree, folded.length);
  for (let start = 0; start < folded.length; ) {
    const dot = folded.indexOf(".", start);
    const end = dot < 0 ? folded.length : dot;
    text += String.fromCharCode(end - start) + folded.slice(start, end);
    start = end + 1;
  }
  return text;
}

/** Writes labels that are joined by dots, after the length of all of them. */
function writeLabels(heap: HeapWriter, text: string): void {
  if (text === "") {
    heap.write8(0);
    return;
  }
  heap.write8(text.length + 1);
  for (let start = 0; start <= text.length; ) {
    const dot = text.indexOf(".", start);
    const end = dot < 0 ? text.length : dot;
    heap.writeLabel(text.slice(start, end));
    start = end + 1;
  }
}

function writeSets(heap: HeapWriter, sets: RecordSets, tables: TableBuilder, services: number[]): void {
  const list = heap.length;
  sets.write(heap, tables);
  const { buffer } = heap;
  let set = list + 1;
  for (let left = buffer[list]!; left > 0; left--) {
    const end = setEnd(buffer, set);
    if (buffer[set] === RecordType.SRV)
      for (let record = recordsOf(buffer, set); record < end; record += SRV_BYTES) services.push(record);
    set = end;
  }
}
