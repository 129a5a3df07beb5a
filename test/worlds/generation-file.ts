import { type Blob, Page } from "../../src/zone/generation/directory.ts";
import { Frame } from "../../src/zone/generation/frame.ts";
import { Generation, Trunk } from "../../src/zone/generation/generation.ts";
import { hashBlob } from "../../src/zone/segment/hash.ts";
import { ReverseSegment } from "../../src/zone/segment/reverse-segment.ts";
import { Segment } from "../../src/zone/segment/segment.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** All blobs of a generation but its root, each with its length in front, for a process that loads it. */
export function writeGeneration({ frame, stems, names, reverse }: Generation): Bytes {
  const blobs = [frame.bytes, stems.bytes, ...blobsOf(names), ...blobsOf(reverse)];
  const file = new Uint8Array(blobs.reduce((sum, { length }) => sum + 4 + length, 0));
  const view = new DataView(file.buffer);
  let at = 0;
  for (const blob of blobs) {
    view.setUint32(at, blob.length);
    file.set(blob, at + 4);
    at += 4 + blob.length;
  }
  return file;
}

function* blobsOf(page: Page<Segment> | Page<ReverseSegment>): Generator<Uint8Array> {
  yield page.bytes;
  for (const { branch } of page.entries)
    if (branch.page !== undefined) yield* blobsOf(branch.page);
    else yield branch.segment!.bytes;
}

/** The generation that was written, with serial 1. It uses the file's bytes. */
export function readGeneration(file: Bytes): Generation {
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  let at = 0;
  const next = <Part>(load: (bytes: Bytes, hash: string) => Part): Part => {
    const blob = file.subarray(at + 4, at + 4 + view.getUint32(at));
    at += 4 + blob.length;
    return load(blob, hashBlob(blob));
  };
  const nextPage = <Content extends Blob>(load: (bytes: Bytes, hash: string) => Content, isTop = true) => {
    const page = next((bytes, hash) => Page.load<Content>(bytes, hash, isTop));
    for (const { branch } of page.entries)
      if (branch.kind === "page") branch.page = nextPage(load, false);
      else branch.segment = next(load);
    return page;
  };
  const trunk = new Trunk(next(Frame.load), next(Segment.load));
  return new Generation(1, trunk, nextPage(Segment.load), nextPage(ReverseSegment.load));
}
