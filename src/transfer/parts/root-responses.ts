import { readRoot } from "../../zone/generation/root.ts";
import { FormatError } from "../../zone/segment/blob.ts";
import { PartChangeError } from "./part-change.ts";

/*
 * What a secondary gets of a root, as a list of blobs, each with its length in front (u32, little-endian). Without a root before it that is
 * the root's document, with what every query needs: the blobs root, frame, stems, and the top pages of the directories of names and of
 * reverse names. With one it is the root's news: the change of the document (part-change.ts), then the segments that are new.
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
  return writeBlobs(blobs);
}

/** @throws {FormatError} for bytes that are no document; the blobs are not checked */
export function readRootDocument(document: Bytes): RootBlobs {
  const blobs: Partial<Record<keyof RootBlobs, Bytes>> = {};
  let read = 0;
  for (const blob of blobsIn(document, () => new FormatError("the root's document is cut off"))) {
    const part = PARTS[read++];
    if (part === undefined) throw new FormatError("the root's document goes on after its end");
    blobs[part] = blob;
  }
  if (read < PARTS.length) throw new FormatError("the root's document is cut off");
  return blobs as RootBlobs;
}

/** The change of a root, with segments that are new in it. */
export interface RootNews {
  readonly change: Bytes;
  readonly segments: readonly Bytes[];
}

export function writeRootNews({ change, segments }: RootNews): Bytes {
  return writeBlobs([change, ...segments]);
}

/** @throws {PartChangeError} for bytes that are cut off */
export function readRootNews(news: Bytes): RootNews {
  const cutOff = () => new PartChangeError("the change of the root is cut off");
  const [change, ...segments] = blobsIn(news, cutOff);
  if (change === undefined) throw cutOff();
  return { change, segments };
}

function writeBlobs(blobs: readonly Bytes[]): Bytes {
  const bytes = new Uint8Array(blobs.reduce((sum, { length }) => sum + WORD + length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const blob of blobs) {
    view.setUint32(at, blob.length, true);
    bytes.set(blob, at + WORD);
    at += WORD + blob.length;
  }
  return bytes;
}

/** Each blob as a copy, so that it begins at a multiple of 4. */
function* blobsIn(bytes: Bytes, cutOff: () => Error): Generator<Bytes> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; ) {
    const length = at + WORD <= bytes.length ? view.getUint32(at, true) : bytes.length;
    if (at + WORD + length > bytes.length) throw cutOff();
    yield bytes.slice(at + WORD, at + WORD + length);
    at += WORD + length;
  }
}
