import { FOLD, MAX_LABEL_BYTES, MAX_NAME_BYTES, RecordType } from "../dns/name.ts";
import { ABSENT_CLUSTER } from "../merge/clusterset.ts";
import {
  countEnd,
  findSet,
  fixedDataBytes,
  isLocalityView,
  type LeaseMemo,
  LONG_COUNT,
  listForView,
  type Names,
  read16,
  read32,
  readCount,
  recordCount,
  recordsOf,
  SetField,
  type TreeKey,
  targetOf,
  write16,
  write32,
} from "../zone/world.ts";

/*
 * A compiled key: the names and RRsets of one service in one kind of zone, as immutable bytes. Words are
 * little-endian and 4-aligned, other numbers big-endian, as in DNS.
 *
 *   header   `KeyHeader`
 *   names    one after the other, by tree, then length, then folded bytes
 *   offsets  u32 of each name, from a multiple of 4 on
 *   terms    for each: TTL u32 (seconds; high bit: the order of records matters), lease group u16
 *   tables   ASCII JSON: `KeyTables`
 *
 *   name form u8 (`KeyForm`), tree u16, length u8, labels (length byte, bytes, case kept) relative to the
 *   zone, record block if it has one (zone/world.ts)
 */

/** "CDKY" read as a little-endian word. */
const KEY_MAGIC = 0x594b4443;
/** Loading rejects bytes of another version. */
const KEY_FORMAT_VERSION = 2;
/** Word index of each field of the header; counts in entries. */
const KeyHeader = {
  magic: 0,
  version: 1,
  length: 2,
  names: 3,
  heapEnd: 4,
  terms: 5,
  tablesBytes: 6,
} as const;
/** Bytes of the header: where the names start. */
export const KEY_HEADER_BYTES = 28;
/** Bytes of one of the terms. */
const TERMS_BYTES = 6;
/** Trees that a name can be of. */
const MOST_TREES = 0x10000;
/** Bits of a name's form. */
export const KeyForm = { records: 1, variants: 2 } as const;
/** Bytes of a name before its labels. */
const NAME_HEAD_BYTES = 4;
/** The offsets in a name of its tree, and of the length of its labels. */
const NAME_TREE = 1;
const NAME_LENGTH = 3;

/** TTL and lease group of sets. */
export interface Terms {
  /** In seconds, with KEEP_ORDER if the order of records matters. */
  readonly ttl: number;
  readonly leaseGroup: number;
}

/** What names refer to by index. */
export interface KeyTables {
  readonly trees: readonly TreeKey[];
  /** The names of the views with records of their own: cluster ids, and localities (`localityView`). */
  readonly views: readonly string[];
  /** The cluster ids on which the records of each lease group depend; group 0 depends on none. */
  readonly leaseGroups: readonly (readonly string[])[];
  /**
   * Where exports of the service reach some clusters only: the cluster ids of each audience, `ABSENT_CLUSTER`
   * for those that none names. The first has the trees of clients outside, the others `audienceTree`.
   */
  readonly audiences: readonly (readonly string[])[];
}

/**
 * The key of a tree as an audience has it.
 * @param index of the audience; 0 has the tree of clients outside
 */
export function audienceTree(tree: TreeKey, index: number): TreeKey {
  return index === 0 ? tree : `${tree}@${index}`;
}

/** Whether a key is that of a tree, as any audience has it. */
export function isAudienceTree(key: TreeKey, tree: TreeKey): boolean {
  return key === tree || key.startsWith(`${tree}@`);
}

/** What a compiled key is made of. */
export interface KeyParts {
  /** With `KEY_HEADER_BYTES` bytes of room in front. */
  readonly heap: Uint8Array;
  readonly offsets: Uint32Array;
  readonly terms: readonly Terms[];
  readonly tables: KeyTables;
}

/** Names and RRsets of one key. A node is the offset of a name. */
export class CompiledKey implements Names {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly trees: readonly TreeKey[];
  readonly views: readonly string[];
  readonly leaseGroups: readonly (readonly string[])[];
  readonly audiences: readonly (readonly string[])[];
  leaseMemo: LeaseMemo | undefined = undefined;
  readonly #offsets: Uint32Array;
  readonly #termsAt: number;

  private constructor(bytes: Uint8Array<ArrayBuffer>, { trees, views, leaseGroups, audiences }: KeyTables) {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, KEY_HEADER_BYTES / 4);
    const offsetsAt = align(words[KeyHeader.heapEnd]!);
    this.bytes = bytes;
    this.trees = trees;
    this.views = views;
    this.leaseGroups = leaseGroups;
    this.audiences = audiences;
    this.#offsets = new Uint32Array(bytes.buffer, bytes.byteOffset + offsetsAt, words[KeyHeader.names]!);
    this.#termsAt = offsetsAt + 4 * words[KeyHeader.names]!;
  }

  /** Puts a key together. */
  static of({ heap, offsets, terms, tables }: KeyParts): CompiledKey {
    const json = writeJson(tables);
    const offsetsAt = align(heap.length);
    const termsAt = offsetsAt + 4 * offsets.length;
    const tablesAt = termsAt + TERMS_BYTES * terms.length;
    const bytes = new Uint8Array(align(tablesAt + json.length));
    const words = new Uint32Array(bytes.buffer);
    bytes.set(heap);
    words[KeyHeader.magic] = KEY_MAGIC;
    words[KeyHeader.version] = KEY_FORMAT_VERSION;
    words[KeyHeader.length] = bytes.length;
    words[KeyHeader.names] = offsets.length;
    words[KeyHeader.heapEnd] = heap.length;
    words[KeyHeader.terms] = terms.length;
    words[KeyHeader.tablesBytes] = json.length;
    words.set(offsets, offsetsAt / 4);
    bytes.set(writeTerms(terms), termsAt);
    bytes.set(json, tablesAt);
    return new CompiledKey(bytes, tables);
  }

  /**
   * Loads bytes from elsewhere without copying them; they must start at a multiple of 4 in their buffer.
   * Whatever they are, look-ups in a loaded key end, and read nothing outside of it.
   * @throws {FormatError} for bytes that are not a well-formed key
   */
  static load(bytes: Uint8Array<ArrayBuffer>): CompiledKey {
    return new CompiledKey(bytes, new KeyChecks(bytes).check());
  }

  /** The index of a tree in a view by its name; -1 if it has none. */
  treeOf(tree: TreeKey, view?: string): number {
    const { audiences, trees } = this;
    if (audiences.length === 0 || view === undefined || isLocalityView(view)) return trees.indexOf(tree);
    const named = audiences.findIndex((views) => views.includes(view));
    const index = named >= 0 ? named : audiences.findIndex((views) => views.includes(ABSENT_CLUSTER));
    return trees.indexOf(audienceTree(tree, Math.max(0, index)));
  }

  /**
   * The node of a folded relative name, which is `name` from `start` to `end`, in a tree by its index; -1 if
   * there is none.
   */
  find(tree: number, name: Uint8Array, start: number, end: number): number {
    const offsets = this.#offsets;
    // The name of the service itself, which most queries are for, is the shortest one.
    let low = 0;
    let high = offsets.length;
    let middle = 0;
    while (low < high) {
      const node = offsets[middle]!;
      const order = this.#compare(node, tree, name, start, end);
      if (order === 0) return node;
      if (order < 0) low = middle + 1;
      else high = middle;
      middle = (low + high) >>> 1;
    }
    return -1;
  }

  /**
   * Whether a name of a tree has an address in a view.
   * @param name relative, in wire form without the root label
   */
  hasAddress(tree: TreeKey, name: Uint8Array, address: Uint8Array, view: string | undefined): boolean {
    const { bytes } = this;
    const folded = name.map((byte) => FOLD[byte]!);
    const node = this.find(this.treeOf(tree, view), folded, 0, folded.length);
    const list = node < 0 ? 0 : this.setListOf(node, this.viewOf(view));
    const set = list && findSet(bytes, list, address.length === 4 ? RecordType.A : RecordType.AAAA);
    if (set === 0) return false;
    let at = recordsOf(bytes, set);
    for (let left = recordCount(bytes, set); left > 0; left--, at += address.length)
      if (address.every((byte, index) => bytes[at + index] === byte)) return true;
    return false;
  }

  /**
   * Whether a tree has, in any view, a name that ends with a relative name in lower-case text, and is longer.
   */
  hasNameBelow(tree: TreeKey, name: string): boolean {
    const end = `.${name}`;
    return this.#offsets.some(
      (node) =>
        isAudienceTree(this.trees[this.#treeAt(node)]!, tree) &&
        this.textOf(node).toLowerCase().endsWith(end),
    );
  }

  /** The names of a tree in a view. */
  nodesOf(tree: TreeKey, view?: string): number[] {
    const index = this.treeOf(tree, view);
    return [...this.#offsets].filter((node) => this.#treeAt(node) === index);
  }

  /** The first byte of the first label of a node's relative name. */
  firstByteOf(node: number): number {
    return this.bytes[node + NAME_HEAD_BYTES + 1]!;
  }

  /**
   * The labels of a node's relative name, joined by dots; each byte becomes the character with its number.
   */
  textOf(node: number): string {
    const { bytes } = this;
    const end = node + NAME_HEAD_BYTES + bytes[node + NAME_LENGTH]!;
    let text = "";
    for (let at = node + NAME_HEAD_BYTES; at < end; at += bytes[at]! + 1)
      text += `${text === "" ? "" : "."}${String.fromCharCode(...bytes.subarray(at + 1, at + 1 + bytes[at]!))}`;
    return text;
  }

  #treeAt(node: number): number {
    return read16(this.bytes, node + NAME_TREE);
  }

  #compare(node: number, tree: number, name: Uint8Array, start: number, end: number): number {
    const { bytes } = this;
    const order = read16(bytes, node + NAME_TREE) - tree || bytes[node + NAME_LENGTH]! - (end - start);
    if (order !== 0) return order;
    let own = node + NAME_HEAD_BYTES;
    for (let at = start; at < end; at++, own++) {
      const byte = FOLD[bytes[own]!]!;
      if (byte !== name[at]) return byte - name[at]!;
    }
    return 0;
  }

  viewOf(name: string | undefined): number {
    const { views } = this;
    if (name === undefined || views.length === 0) return -1;
    const own = views.indexOf(name);
    return own >= 0 || isLocalityView(name) ? own : views.indexOf(ABSENT_CLUSTER);
  }

  setListOf(node: number, view: number): number {
    const { bytes } = this;
    const form = bytes[node]!;
    if ((form & KeyForm.records) === 0) return 0;
    const block = node + NAME_HEAD_BYTES + bytes[node + NAME_LENGTH]!;
    return view < 0 || (form & KeyForm.variants) === 0 ? block : listForView(bytes, block, view);
  }

  ttlOf(set: number): number {
    const { bytes } = this;
    return read32(bytes, this.#termsAt + TERMS_BYTES * read16(bytes, set + SetField.terms));
  }

  leaseGroupOf(set: number): number {
    const { bytes } = this;
    return read16(bytes, this.#termsAt + TERMS_BYTES * read16(bytes, set + SetField.terms) + 4);
  }

  nameBytes(node: number): number {
    return this.bytes[node + NAME_LENGTH]!;
  }

  copyName(node: number, into: Uint8Array, at: number): void {
    const { bytes } = this;
    const start = node + NAME_HEAD_BYTES;
    const length = bytes[node + NAME_LENGTH]!;
    for (let index = 0; index < length; index++) into[at + index] = bytes[start + index]!;
  }
}

function writeTerms(terms: readonly Terms[]): Uint8Array {
  const bytes = new Uint8Array(terms.length * TERMS_BYTES);
  for (const [index, { ttl, leaseGroup }] of terms.entries()) {
    write32(bytes, index * TERMS_BYTES, ttl);
    write16(bytes, index * TERMS_BYTES + 4, leaseGroup);
  }
  return bytes;
}

/** Checks bytes that claim to be a key. */
class KeyChecks {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  /** Offset of the end of the names. */
  #end = 0;
  #trees = 0;
  #terms = 0;
  #views = 0;
  /** The offsets that SRV records have as targets. */
  readonly #targets: number[] = [];
  readonly #names = new Set<number>();

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  /** @throws {FormatError} */
  check(): KeyTables {
    const bytes = this.#bytes;
    check(bytes.byteOffset % 4 === 0, "a key does not start at a multiple of 4");
    check(bytes.length >= KEY_HEADER_BYTES && bytes.length % 4 === 0, `${bytes.length} bytes are not a key`);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    check(words[KeyHeader.magic] === KEY_MAGIC, "these bytes are not a key");
    const version = words[KeyHeader.version];
    check(
      version === KEY_FORMAT_VERSION,
      `a key has format version ${version}; this program reads ${KEY_FORMAT_VERSION}`,
    );
    check(
      words[KeyHeader.length] === bytes.length,
      `a key should have ${words[KeyHeader.length]} bytes and has ${bytes.length}`,
    );
    this.#end = words[KeyHeader.heapEnd]!;
    const terms = words[KeyHeader.terms]!;
    this.#terms = terms;
    const names = words[KeyHeader.names]!;
    check(this.#end >= KEY_HEADER_BYTES && this.#end <= bytes.length, "the names of a key end outside of it");
    const offsetsAt = align(this.#end);
    // A forged count may be as large as a word can be: plain arithmetic is exact.
    const tablesAt = offsetsAt + 4 * names + TERMS_BYTES * terms;
    const tablesBytes = words[KeyHeader.tablesBytes]!;
    check(
      4 * Math.ceil((tablesAt + tablesBytes) / 4) === bytes.length,
      "the sections of a key do not end with it",
    );
    const tables = readTables(readJson(bytes, tablesAt, tablesBytes, "a key"));
    this.#trees = tables.trees.length;
    this.#views = tables.views.length;
    for (let at = tablesAt - TERMS_BYTES * terms; at < tablesAt; at += TERMS_BYTES)
      check(read16(bytes, at + 4) < tables.leaseGroups.length, "a set has an unknown lease group");
    let next = KEY_HEADER_BYTES;
    let before = -1;
    for (let index = 0; index < names; index++) {
      const node = words[offsetsAt / 4 + index]!;
      check(node === next, "the names of a key are not one after the other");
      next = this.#checkName(node);
      check(before < 0 || this.#isBefore(before, node), "the names of a key are not in order");
      before = node;
    }
    check(next === this.#end, "the names of a key do not end where they should");
    for (const target of this.#targets) check(this.#names.has(target), "an SRV record has an unknown target");
    return tables;
  }

  /** @returns the offset after the name */
  #checkName(node: number): number {
    const bytes = this.#bytes;
    check(node + NAME_HEAD_BYTES <= this.#end, "a name ends outside of the names, or is too long");
    const form = bytes[node]!;
    check((form & ~(KeyForm.records | KeyForm.variants)) === 0, "a name has an unknown form");
    check(read16(bytes, node + NAME_TREE) < this.#trees, "a name has an unknown tree");
    const start = node + NAME_HEAD_BYTES;
    const end = start + bytes[node + NAME_LENGTH]!;
    check(
      end <= this.#end && end - start < MAX_NAME_BYTES,
      "a name ends outside of the names, or is too long",
    );
    for (let at = start; at < end; ) {
      const length = bytes[at]!;
      check(
        length > 0 && length <= MAX_LABEL_BYTES && at + 1 + length <= end,
        "a name has a malformed label",
      );
      at += 1 + length;
    }
    this.#names.add(node);
    if ((form & KeyForm.records) === 0) return end;
    return this.#checkBlock(end, (form & KeyForm.variants) !== 0);
  }

  #isBefore(one: number, other: number): boolean {
    const bytes = this.#bytes;
    const order =
      read16(bytes, one + NAME_TREE) - read16(bytes, other + NAME_TREE) ||
      bytes[one + NAME_LENGTH]! - bytes[other + NAME_LENGTH]!;
    if (order !== 0) return order < 0;
    for (let at = NAME_HEAD_BYTES; at < NAME_HEAD_BYTES + bytes[one + NAME_LENGTH]!; at++) {
      const difference = FOLD[bytes[one + at]!]! - FOLD[bytes[other + at]!]!;
      if (difference !== 0) return difference < 0;
    }
    return false;
  }

  /**
   * Checks a block.
   * @returns the offset after it
   * @throws {FormatError} for anything that a look-up could follow out of the heap
   */
  #checkBlock(block: number, hasVariants: boolean): number {
    const bytes = this.#bytes;
    let position = this.#checkList(block);
    if (!hasVariants) return position;
    const count = this.#checkCount(position);
    position = countEnd(bytes, position);
    for (let left = count; left > 0; left--) {
      this.#need(position, 2);
      check(read16(bytes, position) < this.#views, "a record block has an unknown view");
      position = this.#checkList(position + 2);
    }
    return position;
  }

  #checkCount(at: number): number {
    this.#need(at, 1);
    if (this.#bytes[at] === LONG_COUNT) this.#need(at, 3);
    return readCount(this.#bytes, at);
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
    this.#need(set, SetField.count);
    const type = bytes[set]!;
    check(read16(bytes, set + SetField.terms) < this.#terms, "a set has unknown terms");
    const count = this.#checkCount(set + SetField.count);
    const fixed = fixedDataBytes(type);
    let at = recordsOf(bytes, set);
    if (fixed > 0) {
      this.#need(at, count * fixed);
      if (type === RecordType.SRV)
        for (let index = 0; index < count; index++) this.#targets.push(targetOf(bytes, at + index * fixed));
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

/** @throws {FormatError} if they are malformed */
function readTables(value: unknown): KeyTables {
  const tables = (value ?? {}) as Partial<Record<keyof KeyTables, unknown>>;
  const { trees, views, leaseGroups, audiences } = tables;
  check(isNames(trees) && trees.length <= MOST_TREES, "a key has no table of trees");
  check(isNames(views), "a key has no table of views");
  check(
    Array.isArray(leaseGroups) && leaseGroups.every(isNames) && leaseGroups[0]?.length === 0,
    "a key has no table of lease groups",
  );
  const hasTrees = (_: unknown, index: number) =>
    index === 0 || trees.some((tree) => tree.endsWith(audienceTree("", index)));
  check(
    Array.isArray(audiences) && audiences.every(isNames) && audiences.every(hasTrees),
    "a key has no table of audiences",
  );
  return { trees, views, leaseGroups, audiences };
}

/** Whether a value is a list of distinct texts. */
function isNames(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.every((name) => typeof name === "string") &&
    new Set(value).size === value.length
  );
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

/** Bytes cannot be loaded: foreign, of another format version, cut off, or malformed. */
export class FormatError extends Error {
  readonly code = "INVALID_ZONES";
}

/** The next multiple of 4. */
export function align(length: number): number {
  return (length + 3) & ~3;
}

/** @throws {FormatError} if a claim about bytes is false */
export function check(claim: boolean, message: string): asserts claim {
  if (!claim) throw new FormatError(message);
}

/**
 * JSON in ASCII from `start` to `end`, and nothing but zeros behind it.
 * @throws {FormatError} if it is malformed
 */
export function readJson(bytes: Uint8Array, start: number, length: number, what: string): unknown {
  const padded = align(start + length);
  check(padded <= bytes.length, `the tables of ${what} end behind it`);
  for (let index = start + length; index < padded; index++)
    check(bytes[index] === 0, `the tables of ${what} are not followed by zeros`);
  let text = "";
  for (let index = start; index < start + length; index++) text += String.fromCharCode(bytes[index]!);
  try {
    return JSON.parse(text);
  } catch {
    throw new FormatError(`the tables of ${what} are not JSON`);
  }
}

/** Text as ASCII JSON: other characters are escaped. */
export function writeJson(value: unknown): Uint8Array {
  const text = JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}
