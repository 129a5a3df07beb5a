import { createBlob } from "../segment/blob.ts";
import { HASH_BYTES, hashBlob, writeHash } from "../segment/hash.ts";
import { BLOB_WORDS, BlobKind } from "../segment/layout.ts";
import type { ReverseSegment } from "../segment/reverse-segment.ts";
import type { Segment } from "../segment/segment.ts";
import type { Page } from "./directory.ts";

/*
 * A generation as one array of bytes. After the first words: serial u32, number of blobs u32, hash of the root (16 bytes), check (16 bytes: the hash
 * of all words before it); then each blob with its length in front: root, frame, stems, the pages and segments of names, those of reverse names. A page
 * comes before what is below it.
 */

/** Word index of the serial and of the number of blobs. */
export const BundleHeader = { serial: BLOB_WORDS, count: BLOB_WORDS + 1 } as const;
/** Offset of the hash of the root. */
export const ROOT_HASH_AT = (BLOB_WORDS + 2) * 4;
/** Offset of the check. */
export const CHECK_AT = ROOT_HASH_AT + HASH_BYTES;
/** Offset of the first blob's length. */
export const BLOBS_AT = CHECK_AT + HASH_BYTES;

type Bytes = Uint8Array<ArrayBuffer>;

/** What a bundle is written from: a generation. */
export interface BundleParts {
  readonly serial: number;
  readonly rootHash: string;
  readonly root: Bytes;
  readonly frame: { readonly bytes: Bytes };
  readonly stems: Segment;
  readonly names: Page<Segment>;
  readonly reverse: Page<ReverseSegment>;
}

/** @throws {RangeError} if a segment is not in memory */
export function writeBundle({ serial, rootHash, root, frame, stems, names, reverse }: BundleParts): Bytes {
  const blobs = [root, frame.bytes, stems.bytes, ...blobsOf(names), ...blobsOf(reverse)];
  const { bytes, words } = createBlob(
    BlobKind.bundle,
    blobs.reduce((sum, blob) => sum + 4 + blob.length, BLOBS_AT),
  );
  words[BundleHeader.serial] = serial;
  words[BundleHeader.count] = blobs.length;
  writeHash(bytes, ROOT_HASH_AT, rootHash);
  writeHash(bytes, CHECK_AT, hashBlob(bytes.subarray(0, CHECK_AT)));
  let at = BLOBS_AT;
  for (const blob of blobs) {
    words[at >> 2] = blob.length;
    bytes.set(blob, at + 4);
    at += 4 + blob.length;
  }
  return bytes;
}

function* blobsOf(page: Page<Segment> | Page<ReverseSegment>): Generator<Bytes> {
  yield page.bytes;
  for (const { branch } of page.entries) {
    if (branch.page !== undefined) yield* blobsOf(branch.page);
    else if (branch.segment !== undefined) yield branch.segment.bytes;
    else throw new RangeError(`the ${branch.kind} ${branch.hash} is not in memory`);
  }
}
