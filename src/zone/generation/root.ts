import { check, createBlob, readBlob } from "../segment/blob.ts";
import { formatHash, HASH_BYTES, writeHash } from "../segment/hash.ts";
import { BLOB_WORDS, BlobKind } from "../segment/layout.ts";

const HASHES_AT = BLOB_WORDS * 4;
const PARTS = ["frame", "stems", "names", "reverse"] as const;

/** The hashes of the parts of a generation: frame, stems, and the top pages of the directories of names and reverse names. */
export type RootHashes = Readonly<Record<(typeof PARTS)[number], string>>;

/** The bytes of a root; their hash is that of everything in the generation but its serial. */
export function writeRoot(hashes: RootHashes): Uint8Array<ArrayBuffer> {
  const { bytes } = createBlob(BlobKind.root, HASHES_AT + PARTS.length * HASH_BYTES);
  for (const [index, part] of PARTS.entries()) writeHash(bytes, HASHES_AT + index * HASH_BYTES, hashes[part]);
  return bytes;
}

/** @throws {FormatError} for bytes that are not a well-formed root */
export function readRoot(bytes: Uint8Array<ArrayBuffer>): RootHashes {
  readBlob(bytes, BlobKind.root, "a root");
  check(bytes.length === HASHES_AT + PARTS.length * HASH_BYTES, "a root has a wrong length");
  const hashOf = (index: number) => formatHash(bytes, HASHES_AT + index * HASH_BYTES);
  return { frame: hashOf(0), stems: hashOf(1), names: hashOf(2), reverse: hashOf(3) };
}
