import { RecordType } from "../dns/codes.ts";
import { intern, type NameNode, type NameTree } from "../zone/name-tree.ts";
import {
  fixedDataBytes,
  LONG_COUNT,
  read32,
  recordsOf,
  setEnd,
  write16,
  write32,
} from "../zone/record-block.ts";
import type { RecordSets } from "../zone/record-sets.ts";
import { CompiledKey, KEY_HEADER_BYTES, KeyForm, type Terms } from "./compiled-key.ts";

const SRV_BYTES = fixedDataBytes(RecordType.SRV);
const PORT_BYTES = 2;

/** The compiled form of names. Equal names give equal bytes. @param withApexes whether the apexes are names of it, too */
export function writeKey(names: NameTree, withApexes = false): CompiledKey {
  const { nodes } = names;
  const order = nodes
    .map((node, index) => ({ index, text: orderText(node) }))
    .slice(withApexes ? 0 : names.trees.length)
    .sort((one, other) => (one.text < other.text ? -1 : 1));
  const writer = new KeyWriter(names, order.length);
  const starts = new Uint32Array(nodes.length);
  const offsets = new Uint32Array(order.length);
  for (const [place, { index }] of order.entries())
    starts[index] = offsets[place] = writer.write(nodes[index]!);
  return CompiledKey.of({
    heap: writer.finish(starts),
    offsets,
    terms: writer.terms,
    tables: { trees: names.trees, views: names.views, leaseGroups: names.leaseGroups },
  });
}

/** Text in the order in which names are: by tree, then length, then folded bytes, since each label comes after the character with its length. */
function orderText({ tree, folded }: NameNode): string {
  let text = String.fromCharCode(tree, folded.length);
  for (let start = 0; start < folded.length; ) {
    const dot = folded.indexOf(".", start);
    const end = dot < 0 ? folded.length : dot;
    text += String.fromCharCode(end - start) + folded.slice(start, end);
    start = end + 1;
  }
  return text;
}

class KeyWriter {
  readonly terms: Terms[] = [];
  readonly #heap: HeapWriter;
  readonly #views: readonly string[];
  readonly #known = new Map<number, number>();
  /** Offsets of SRV records, whose targets are nodes yet. */
  readonly #services: number[] = [];

  constructor(names: NameTree, count: number) {
    this.#heap = new HeapWriter(KEY_HEADER_BYTES, 64 + 64 * count);
    this.#views = names.views;
  }

  /** @returns the offset of the name */
  write({ tree, text, sets, variants }: NameNode): number {
    const heap = this.#heap;
    const start = heap.length;
    heap.write8((sets === undefined ? 0 : KeyForm.records) | (variants.size === 0 ? 0 : KeyForm.variants));
    heap.write8(tree);
    this.#writeLabels(text);
    if (sets === undefined) return start;
    this.#writeSets(sets);
    if (variants.size === 0) return start;
    heap.writeCount(variants.size);
    const views = this.#views;
    const byName = [...variants].sort(([one], [other]) => (views[one]! < views[other]! ? -1 : 1));
    for (const [view, own] of byName) {
      heap.write16(view);
      this.#writeSets(own);
    }
    return start;
  }

  /** The heap, with targets that are offsets. @param starts the offsets of nodes */
  finish(starts: Uint32Array): Uint8Array {
    const heap = this.#heap;
    for (const record of this.#services)
      heap.put32(record + PORT_BYTES, starts[read32(heap.bytes, record + PORT_BYTES)]! - record);
    return heap.bytes;
  }

  /** Writes labels that are joined by dots, after the length of all of them. */
  #writeLabels(text: string): void {
    const heap = this.#heap;
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

  /** Writes a set list: the count, then the sets. */
  #writeSets({ sets }: RecordSets): void {
    const heap = this.#heap;
    heap.write8(sets.length);
    for (const { type, ttl, leaseGroup, count, data } of sets) {
      const set = heap.length;
      heap.write8(type);
      heap.write16(this.#termsOf(ttl, leaseGroup));
      heap.writeCount(count);
      heap.writeBytes(data);
      if (type !== RecordType.SRV) continue;
      const end = setEnd(heap.bytes, set);
      for (let record = recordsOf(heap.bytes, set); record < end; record += SRV_BYTES)
        this.#services.push(record);
    }
  }

  /** The index of the terms with a TTL and a lease group. */
  #termsOf(ttl: number, leaseGroup: number): number {
    const index = intern(this.#known, (ttl >>> 0) * 0x10000 + leaseGroup, "terms of sets");
    if (index === this.terms.length) this.terms.push({ ttl: ttl >>> 0, leaseGroup });
    return index;
  }
}

/** A growing byte array with big-endian writes, behind room for a header: offset 0 can mean "none". */
class HeapWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #length: number;

  /** @param start bytes of the header @param room for how many more bytes there is room at first */
  constructor(start: number, room: number) {
    this.#bytes = new Uint8Array(start + room);
    this.#length = start;
  }

  /** The offset of the next byte. */
  get length(): number {
    return this.#length;
  }

  /** The header's room and what was written; valid until the next write. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  write8(value: number): void {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
  }

  write16(value: number): void {
    const at = this.#reserve(2);
    write16(this.#bytes, at, value);
  }

  /** Writes a count in one byte, or, from 255 on, as the byte 255 and a 16-bit number. */
  writeCount(value: number): void {
    if (value < LONG_COUNT) this.write8(value);
    else {
      this.write8(LONG_COUNT);
      this.write16(value);
    }
  }

  writeBytes(written: ArrayLike<number>): void {
    const at = this.#reserve(written.length);
    const bytes = this.#bytes;
    for (let index = 0; index < written.length; index++) bytes[at + index] = written[index]!;
  }

  /** Writes another 32-bit number over what is at an offset. */
  put32(at: number, value: number): void {
    write32(this.#bytes, at, value);
  }

  /** Writes a label of ASCII characters with its length byte. */
  writeLabel(label: string): void {
    this.write8(label.length);
    const at = this.#reserve(label.length);
    const bytes = this.#bytes;
    for (let index = 0; index < label.length; index++) bytes[at + index] = label.charCodeAt(index);
  }

  #reserve(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    return at;
  }
}
