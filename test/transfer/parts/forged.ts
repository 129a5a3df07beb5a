import { readRootDocument } from "../../../src/transfer/parts/root-responses.ts";
import type { ScopeTransfer } from "../../../src/transfer/primary.ts";
import { readRoot } from "../../../src/zone/generation/root.ts";
import { HASH_BYTES, hashBlob, writeHash } from "../../../src/zone/segment/hash.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** A generation with a part in it that somebody else made: every hash fits. */
export interface Forged {
  /** The hash that a state has to name. */
  readonly hash: string;
  readonly document: Bytes;
  /** The segment that was changed, if one was. */
  readonly segment: { readonly hash: string; readonly bytes: Bytes } | undefined;
}

/** Changes a blob of a root's document: root, frame, stems, names or reverse. */
export function forgeBlob(
  primary: ScopeTransfer,
  hash: string,
  part: "root" | "frame" | "stems" | "names" | "reverse",
  change: (bytes: Bytes) => Bytes,
): Forged {
  const blobs = readRootDocument(primary.root(hash, "")!.bytes);
  if (part === "root") return rooted({ ...blobs, root: change(blobs.root.slice()) }, blobs.root);
  return rooted({ ...blobs, [part]: change(blobs[part].slice()) }, blobs.root);
}

/** Changes a segment of names. @param segment its hash, which a page of the root's document names */
export function forgeSegment(
  primary: ScopeTransfer,
  hash: string,
  segment: string,
  change: (bytes: Bytes) => Bytes,
): Forged {
  const blobs = readRootDocument(primary.root(hash, "")!.bytes);
  const bytes = change(primary.segment(segment, "")!.bytes.slice());
  const own = hashBlob(bytes);
  const names = replaced(blobs.names, segment, own);
  const reverse = replaced(blobs.reverse, segment, own);
  return { ...rooted({ ...blobs, names, reverse }, blobs.root), segment: { hash: own, bytes } };
}

function rooted(blobs: ReturnType<typeof readRootDocument>, original: Bytes): Forged {
  let { root } = blobs;
  const before = readRoot(original);
  for (const part of ["frame", "stems", "names", "reverse"] as const) {
    const own = hashBlob(blobs[part]);
    root = replaced(root, before[part], own);
  }
  const parts = [root, blobs.frame, blobs.stems, blobs.names, blobs.reverse];
  const document = Uint8Array.from(
    parts.flatMap((bytes) => [...new Uint8Array(Uint32Array.of(bytes.length).buffer), ...bytes]),
  );
  return { hash: hashBlob(root), document, segment: undefined };
}

/** The bytes with one hash in place of another, wherever it is. */
function replaced(bytes: Bytes, from: string, to: string): Bytes {
  const changed = bytes.slice();
  const wanted = new Uint8Array(HASH_BYTES);
  writeHash(wanted, 0, from);
  for (let at = 0; at + HASH_BYTES <= bytes.length; at++)
    if (wanted.every((byte, index) => bytes[at + index] === byte)) writeHash(changed, at, to);
  return changed;
}
