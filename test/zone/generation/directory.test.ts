import { describe, expect, it } from "vitest";
import { HeldBranch, Page, type PageEntry } from "../../../src/zone/generation/directory.ts";
import { readRoot, writeRoot } from "../../../src/zone/generation/root.ts";
import { FormatVersionError, readBlob } from "../../../src/zone/segment/blob.ts";
import { BLOB_WORDS, BlobHeader, BlobKind, FORMAT_VERSION } from "../../../src/zone/segment/layout.ts";

type Bytes = Uint8Array<ArrayBuffer>;
interface Content {
  readonly bytes: Uint8Array;
}

const HASH = "0123456789abcdef0123456789abcdef";
const FIRST_ENTRY = BLOB_WORDS * 4 + 4;
const ENTRY_BYTES = 18;
const hashOf = (index: number) => index.toString(16).padStart(32, "0");

/** Entries for slots of so many bits. */
const entriesOf = (...selected: readonly (readonly [slot: number, bits: number])[]): PageEntry<Content>[] =>
  selected.map(([slot, bits], index) => ({
    ...{ slot, bits, branch: new HeldBranch<Content>("segment", hashOf(index + 1)) },
  }));
/** Slots 0 and 1 with one and two bits, then 3 with two. */
const page = Page.of(entriesOf([0, 1], [1, 2], [3, 2]));

function forged(bytes: Bytes, ...changes: readonly (readonly [at: number, value: number])[]): Bytes {
  const copy = bytes.slice();
  for (const [at, value] of changes) copy[at] = value;
  return copy;
}

describe("a page of a directory", () => {
  it.each([
    ["no entries", [[FIRST_ENTRY - 4, 0]], "a page has a wrong number of entries"],
    ["257 entries", [[FIRST_ENTRY - 3, 1]], "a page has a wrong number of entries"],
    ["one entry more", [[FIRST_ENTRY - 4, 4]], "the entries of a page do not end with it"],
    ["one entry less", [[FIRST_ENTRY - 4, 2]], "the entries of a page do not end with it"],
    ["a byte after its entries", [[page.bytes.length - 1, 1]], "a page does not end in zeros"],
    ["an entry with nine bits", [[FIRST_ENTRY + 1, 9]], "an entry of a page has too many bits"],
    ["a slot that its bits do not have", [[FIRST_ENTRY, 2]], "the entries of a page are not in order"],
    [
      "a slot before the one before it",
      [[FIRST_ENTRY + ENTRY_BYTES, 0]],
      "the entries of a page are not in order",
    ],
    [
      "a last slot that its bits do not have",
      [[FIRST_ENTRY + 2 * ENTRY_BYTES, 4]],
      "the entries of a page are not in order",
    ],
    ["two entries for a slot", [[FIRST_ENTRY + ENTRY_BYTES, 2]], "two entries of a page have the same slot"],
    ["no entry for a slot", [[FIRST_ENTRY + 2 * ENTRY_BYTES + 1, 3]], "a slot of a page has no entry"],
  ] as const)("is rejected with %s", (_, changes, message) => {
    expect(() => Page.load(forged(page.bytes, ...changes), HASH, true)).toThrow(message);
  });
});

describe("a root", () => {
  const hashes = { frame: hashOf(1), stems: hashOf(2), names: HASH, reverse: "f".repeat(32) };

  it("is rejected with another length", () => {
    const longer = new Uint8Array(writeRoot(hashes).length + 4);
    longer.set(writeRoot(hashes));
    new Uint32Array(longer.buffer)[BlobHeader.totalBytes] = longer.length;
    expect(() => readRoot(longer)).toThrow("a root has a wrong length");
  });
});

describe("any blob", () => {
  const root = writeRoot({ frame: HASH, stems: HASH, names: HASH, reverse: HASH });
  const withWord = (word: number, value: number, bytes = root.slice()) => {
    new Uint32Array(bytes.buffer)[word] = value;
    return bytes;
  };
  const read = (bytes: Bytes) => () => readBlob(bytes, BlobKind.root, "a root");

  it.each([
    ["too short", root.slice(0, 12), "12 bytes are too few for a root"],
    ["other bytes", withWord(BlobHeader.magic, 1), "these bytes are not a root"],
    ["another kind", withWord(BlobHeader.kind, BlobKind.page), "these bytes are not a root"],
    ["cut off", root.slice(0, -4), `a root should have ${root.length} bytes and has ${root.length - 4}`],
    [
      "of half a word",
      withWord(BlobHeader.totalBytes, root.length - 2).slice(0, -2),
      "the length of a root is not a multiple of 4",
    ],
    [
      "unaligned",
      new Uint8Array(new ArrayBuffer(root.length + 4), 2, root.length),
      "a root does not start at a multiple of 4",
    ],
  ])("is rejected if it is %s", (_, bytes, message) => {
    expect(read(bytes)).toThrow(new RegExp(`^${message}$`));
  });

  it("of another version says which one it has", () => {
    const other = withWord(BlobHeader.version, 99);
    expect(read(other)).toThrow(FormatVersionError);
    expect(read(other)).toThrow(`a root has format version 99; this program reads ${FORMAT_VERSION}`);
  });
});
