import { align, check, createBlob, readBlob } from "../segment/blob.ts";
import { formatHash, HASH_BYTES, hashBlob, writeHash } from "../segment/hash.ts";
import { BLOB_WORDS, BlobKind } from "../segment/layout.ts";

/** Bits of a hash that one page distinguishes. */
export const PAGE_BITS = 8;
const PAGE_SLOTS = 1 << PAGE_BITS;
/** Bits of a hash that select a segment at most: pages have pages below them once. */
export const MOST_BITS = 2 * PAGE_BITS;
const ENTRIES_AT = BLOB_WORDS * 4 + 4;
/** First slot, bits, hash. */
const ENTRY_BYTES = 2 + HASH_BYTES;
/** The bits of an entry that is another page. */
const PAGE_MARK = 0xff;

/** Content with its bytes. */
export interface Blob {
  readonly bytes: Uint8Array;
}

/** What slots of a page refer to: a segment, whose keys' hashes end in the same bits; or another page. */
export interface Branch<Content extends Blob> {
  readonly kind: "segment" | "page";
  readonly hash: string;
  /** The segment; undefined for a page, and where it is not in memory. */
  segment: Content | undefined;
  /** The page; undefined for a segment, and where it is not in memory. */
  page: Page<Content> | undefined;
}

/**
 * A branch to a page, or to a segment that was not in memory when the page was loaded. It is a class because V8 gives equal objects of several literals hidden classes of their own,
 * and `find` is then 100 ns slower, a tenth of an answer.
 */
export class HeldBranch<Content extends Blob> implements Branch<Content> {
  readonly kind: "segment" | "page";
  readonly hash: string;
  segment: Content | undefined;
  page: Page<Content> | undefined;

  constructor(kind: "segment" | "page", hash: string, segment?: Content, page?: Page<Content>) {
    this.kind = kind;
    this.hash = hash;
    this.segment = segment;
    this.page = page;
  }
}

/** Holds segments by hash for pages that do not hold them themselves. */
export interface SegmentMemory<Content extends Blob> {
  get(hash: string): Content | undefined;
  add(segment: Content): void;
}

/** A branch to a segment that is in memory as long as its memory holds it. */
export class RememberedBranch<Content extends Blob> implements Branch<Content> {
  readonly kind = "segment";
  readonly page = undefined;
  readonly hash: string;
  /** The length of the segment; undefined for one that was not in memory yet. */
  readonly byteLength: number | undefined;
  readonly #memory: SegmentMemory<Content>;

  constructor(hash: string, memory: SegmentMemory<Content>, byteLength?: number) {
    this.hash = hash;
    this.byteLength = byteLength;
    this.#memory = memory;
  }

  get segment(): Content | undefined {
    return this.#memory.get(this.hash);
  }

  set segment(segment: Content | undefined) {
    if (segment !== undefined) this.#memory.add(segment);
  }
}

/** An entry of a page, with its first slot and the number of bits that select it in this page. */
export interface PageEntry<Content extends Blob> {
  readonly slot: number;
  readonly bits: number;
  readonly branch: Branch<Content>;
}

/**
 * A page of a directory of segments, immutable and named by its hash. A hash's lowest bits select one of 256 slots. A leaf has all slots that end
 * in its bits (extendible hashing), so equal leaves make equal pages.
 */
export class Page<Content extends Blob> {
  readonly hash: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly entries: readonly PageEntry<Content>[];
  /** By as many bits of a hash as an entry of this page needs at most. */
  readonly #slots: readonly Branch<Content>[];
  readonly #mask: number;
  #byteLength: number | undefined;

  private constructor(bytes: Uint8Array<ArrayBuffer>, hash: string, entries: readonly PageEntry<Content>[]) {
    this.bytes = bytes;
    this.hash = hash;
    this.entries = entries;
    const count = 1 << entries.reduce((most, { bits }) => Math.max(most, bits), 0);
    const slots: Branch<Content>[] = new Array(count);
    for (const { slot: first, bits, branch } of entries)
      for (let slot = first; slot < count; slot += 1 << bits) slots[slot] = branch;
    this.#slots = slots;
    this.#mask = count - 1;
  }

  /** A page of entries by ascending slot, which together have every slot once. */
  static of<Content extends Blob>(entries: readonly PageEntry<Content>[]): Page<Content> {
    const { bytes, words } = createBlob(BlobKind.page, ENTRIES_AT + entries.length * ENTRY_BYTES);
    words[BLOB_WORDS] = entries.length;
    for (let index = 0; index < entries.length; index++) writeEntry(bytes, index, entries[index]!);
    return new Page(bytes, hashBlob(bytes), entries);
  }

  /** This page with other branches in some of its entries; undefined where it has no entries with these slots and bits. */
  with(changed: readonly PageEntry<Content>[]): Page<Content> | undefined {
    if (changed.length === 0) return this;
    const entries = [...this.entries];
    const bytes = this.bytes.slice();
    let byteLength = this.byteLength;
    for (const entry of changed) {
      const index = indexOfSlot(entries, entry.slot);
      const before = entries[index];
      if (before?.slot !== entry.slot || before.bits !== entry.bits) return undefined;
      byteLength += lengthOf(entry.branch) - lengthOf(before.branch);
      entries[index] = entry;
      writeEntry(bytes, index, entry);
    }
    const page = new Page(bytes, hashBlob(bytes), entries);
    page.#byteLength = byteLength;
    return page;
  }

  /**
   * Loads bytes as a page whose leaves and pages are not in memory yet.
   * @param hash that of the bytes, which the caller knows or has checked
   * @param isTop whether it may have pages below it
   * @param memory holds the segments. Default: the page's branches do
   * @param before whose entries are taken over as objects, with what they have in memory, where the bytes of an entry are the same
   * @throws {FormatError} for bytes that are not a well-formed page
   */
  static load<Content extends Blob>(
    bytes: Uint8Array<ArrayBuffer>,
    hash: string,
    isTop: boolean,
    memory?: SegmentMemory<Content>,
    before?: Page<Content>,
  ): Page<Content> {
    const words = readBlob(bytes, BlobKind.page, "a page");
    const count = words[BLOB_WORDS] ?? 0;
    check(count > 0 && count <= PAGE_SLOTS, "a page has a wrong number of entries");
    const end = ENTRIES_AT + count * ENTRY_BYTES;
    check(bytes.length === align(end), "the entries of a page do not end with it");
    for (let at = end; at < bytes.length; at++) check(bytes[at] === 0, "a page does not end in zeros");
    const taken = new Uint8Array(PAGE_SLOTS);
    const entries: PageEntry<Content>[] = [];
    for (let at = ENTRIES_AT, last = -1; at < end; at += ENTRY_BYTES) {
      const slot = bytes[at]!;
      const isPage = bytes[at + 1] === PAGE_MARK;
      const bits = isPage ? PAGE_BITS : bytes[at + 1]!;
      check(isPage ? isTop : bits <= PAGE_BITS, "an entry of a page has too many bits");
      const step = 1 << bits;
      check(slot > last && slot < step, "the entries of a page are not in order");
      last = slot;
      for (let own = slot; own < PAGE_SLOTS; own += step) {
        check(taken[own] === 0, "two entries of a page have the same slot");
        taken[own] = 1;
      }
      const same = before?.entries[entries.length];
      if (same !== undefined && isSameEntry(bytes, before!.bytes, at)) {
        entries.push(same);
        continue;
      }
      const kind = isPage ? "page" : "segment";
      const own = formatHash(bytes, at + 2);
      const branch: Branch<Content> =
        memory === undefined || isPage
          ? new HeldBranch<Content>(kind, own)
          : new RememberedBranch(own, memory);
      entries.push({ slot, bits, branch });
    }
    check(!taken.includes(0), "a slot of a page has no entry");
    return new Page(bytes, hash, entries);
  }

  /** The segment for a key's hash. If its branch has none, then that segment, or the page above it, is not in memory. */
  find(hash: number): Branch<Content> {
    const found = this.#slots[hash & this.#mask]!;
    const { page } = found;
    return page === undefined ? found : page.#slots[(hash >>> PAGE_BITS) & page.#mask]!;
  }

  /** How many bytes this page, pages below it and segments have, as far as that is known or they are in memory. */
  get byteLength(): number {
    this.#byteLength ??= this.entries.reduce((sum, { branch }) => sum + lengthOf(branch), this.bytes.length);
    return this.#byteLength;
  }

  /** The segments that are in memory, in the order of the directory. */
  *segments(): Generator<Content> {
    for (const { branch } of this.entries)
      if (branch.page !== undefined) yield* branch.page.segments();
      else if (branch.segment !== undefined) yield branch.segment;
  }
}

function writeEntry<Content extends Blob>(
  into: Uint8Array,
  index: number,
  { slot, bits, branch }: PageEntry<Content>,
): void {
  const at = ENTRIES_AT + index * ENTRY_BYTES;
  into[at] = slot;
  into[at + 1] = branch.kind === "page" ? PAGE_MARK : bits;
  writeHash(into, at + 2, branch.hash);
}

/** Where the first entry is whose slot is not below this one. */
function indexOfSlot(entries: readonly PageEntry<Blob>[], slot: number): number {
  let from = 0;
  for (let to = entries.length; from < to; ) {
    const middle = (from + to) >>> 1;
    if (entries[middle]!.slot < slot) from = middle + 1;
    else to = middle;
  }
  return from;
}

function isSameEntry(one: Uint8Array, other: Uint8Array, from: number): boolean {
  for (let at = from; at < from + ENTRY_BYTES; at++) if (one[at] !== other[at]) return false;
  return true;
}

function lengthOf<Content extends Blob>(branch: Branch<Content>): number {
  const known = branch instanceof RememberedBranch ? branch.byteLength : branch.page?.byteLength;
  return known ?? branch.segment?.bytes.length ?? 0;
}
