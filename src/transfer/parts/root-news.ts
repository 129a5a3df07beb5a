import { PartChangeError } from "./part-change.ts";

/*
 * What a secondary that has a root gets of the next one in one response: the change of the root (part-change.ts), then the segments that are
 * new, each with its length in front (u32, little-endian).
 */

type Bytes = Uint8Array<ArrayBuffer>;

const WORD = 4;

/** The change of a root, with segments that are new in it. */
export interface RootNews {
  readonly change: Bytes;
  readonly segments: readonly Bytes[];
}

export function writeRootNews({ change, segments }: RootNews): Bytes {
  const parts = [change, ...segments];
  const news = new Uint8Array(parts.reduce((sum, { length }) => sum + WORD + length, 0));
  const view = new DataView(news.buffer);
  let at = 0;
  for (const part of parts) {
    view.setUint32(at, part.length, true);
    news.set(part, at + WORD);
    at += WORD + part.length;
  }
  return news;
}

/** @throws {PartChangeError} for bytes that are cut off */
export function readRootNews(news: Bytes): RootNews {
  const view = new DataView(news.buffer, news.byteOffset, news.length);
  const parts: Bytes[] = [];
  for (let at = 0; at < news.length || parts.length === 0; ) {
    const length = at + WORD <= news.length ? view.getUint32(at, true) : news.length;
    if (at + WORD + length > news.length) throw new PartChangeError("the change of the root is cut off");
    parts.push(news.slice(at + WORD, at + WORD + length));
    at += WORD + length;
  }
  const [change, ...segments] = parts as [Bytes, ...Bytes[]];
  return { change, segments };
}
