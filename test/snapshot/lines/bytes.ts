import { createHash } from "node:crypto";
import { LinesReader, type ReadLine } from "../../../src/snapshot/lines/lines-reader.ts";
import type { LineLimits } from "../../../src/snapshot/lines/patch-line.ts";

/** The bytes of all pieces as one array. */
export function concat(pieces: Iterable<Uint8Array>): Uint8Array {
  return new Uint8Array(Buffer.concat([...pieces]));
}

/** Bytes in pieces that end at the given offsets. */
export function cutAt(bytes: Uint8Array, offsets: readonly number[]): Uint8Array[] {
  const ends = [...new Set([...offsets.filter((offset) => offset < bytes.length), bytes.length])];
  ends.sort((one, other) => one - other);
  return ends.map((end, index) => bytes.slice(ends[index - 1] ?? 0, end));
}

/** Texts as lines, with a last line that fits them. */
export function sealed(...texts: readonly string[]): string {
  const before = texts.map((text) => `${text}\n`).join("");
  const sha256 = createHash("sha256").update(before).digest("hex");
  return `${before}${JSON.stringify({ lines: texts.length, sha256 })}\n`;
}

/** Reads pieces to their end. */
export function readAll(pieces: Iterable<Uint8Array>, limits?: LineLimits): ReadLine[] {
  const reader = new LinesReader(limits);
  const lines = [...pieces].flatMap((piece) => [...reader.feed(piece)]);
  reader.finish();
  return lines;
}
