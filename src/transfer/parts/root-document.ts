import { readRoot } from "../../zone/generation/root.ts";
import { FormatError } from "../../zone/segment/blob.ts";

/*
 * A root as it is transferred, with what every query needs: the blobs root, frame, stems, and the top pages of the directories of names and of
 * reverse names, each with its length in front (u32, little-endian).
 */

type Bytes = Uint8Array<ArrayBuffer>;

const WORD = 4;

/** The blobs of a root's document. */
export interface RootBlobs {
  readonly root: Bytes;
  readonly frame: Bytes;
  readonly stems: Bytes;
  readonly names: Bytes;
  readonly reverse: Bytes;
}

const PARTS = ["root", "frame", "stems", "names", "reverse"] as const;

/** The document of a root whose other blobs are given by hash; undefined where one is not there. */
export function writeRootDocument(
  root: Bytes,
  blobOf: (hash: string) => Bytes | undefined,
): Bytes | undefined {
  const { frame, stems, names, reverse } = readRoot(root);
  const blobs = [root];
  for (const hash of [frame, stems, names, reverse]) {
    const blob = blobOf(hash);
    if (blob === undefined) return undefined;
    blobs.push(blob);
  }
  const document = new Uint8Array(blobs.reduce((sum, { length }) => sum + WORD + length, 0));
  const view = new DataView(document.buffer);
  let at = 0;
  for (const blob of blobs) {
    view.setUint32(at, blob.length, true);
    document.set(blob, at + WORD);
    at += WORD + blob.length;
  }
  return document;
}

/** @throws {FormatError} for bytes that are no document; the blobs are not checked */
export function readRootDocument(document: Bytes): RootBlobs {
  const view = new DataView(document.buffer, document.byteOffset, document.length);
  const blobs: Partial<Record<keyof RootBlobs, Bytes>> = {};
  let at = 0;
  for (const part of PARTS) {
    const length = at + WORD <= document.length ? view.getUint32(at, true) : document.length;
    if (at + WORD + length > document.length) throw new FormatError("the root's document is cut off");
    // At a multiple of 4, wherever the document starts.
    blobs[part] = document.slice(at + WORD, at + WORD + length);
    at += WORD + length;
  }
  if (at !== document.length) throw new FormatError("the root's document goes on after its end");
  return blobs as RootBlobs;
}
