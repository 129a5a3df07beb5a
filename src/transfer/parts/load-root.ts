import {
  type Blob,
  type Branch,
  Page,
  type PageEntry,
  type SegmentMemory,
} from "../../zone/generation/directory.ts";
import { Frame } from "../../zone/generation/frame.ts";
import { Generation, Trunk } from "../../zone/generation/generation.ts";
import { readRoot } from "../../zone/generation/root.ts";
import { ReverseSegment } from "../../zone/segment/reverse-segment.ts";
import { Segment } from "../../zone/segment/segment.ts";
import type { AnySegment } from "./any-segment.ts";
import { checkHash } from "./part-fetcher.ts";
import { readRootDocument } from "./root-responses.ts";

/** Holds segments of both kinds. */
export interface SegmentsInMemory {
  /** Those of one kind; a hash of another kind is not there. */
  of<Kind extends AnySegment>(isOfKind: (segment: AnySegment) => segment is Kind): SegmentMemory<Kind>;
}

/**
 * The generation of a root's document, without the segments that the one before does not have. What both have is taken over: bytes and
 * objects are in memory once.
 * @throws {Error} for a document whose blobs do not have their hashes, or are malformed
 */
export function loadRoot(
  document: Uint8Array<ArrayBuffer>,
  hash: string,
  serial: number,
  before: Generation | undefined,
  cache?: SegmentsInMemory,
): Generation {
  const blobs = readRootDocument(document);
  const hashes = readRoot(checkHash(blobs.root, hash, "the root"));
  const loaded = <Part extends { readonly hash: string }>(
    part: "frame" | "stems" | "names" | "reverse",
    kept: Part | undefined,
    load: (bytes: Uint8Array<ArrayBuffer>, hash: string) => Part,
  ): Part =>
    kept?.hash === hashes[part] ? kept : load(checkHash(blobs[part], hashes[part], part), hashes[part]);
  const frame = loaded("frame", before?.frame, Frame.load);
  const stems = loaded("stems", before?.stems, Segment.load);
  const trunk = frame === before?.frame && stems === before.stems ? before.trunk : new Trunk(frame, stems);
  const page =
    <Content extends AnySegment>(memory: SegmentMemory<Content> | undefined, old?: Page<Content>) =>
    (bytes: Uint8Array<ArrayBuffer>, own: string) =>
      Page.load(bytes, own, true, memory, old);
  const names = loaded("names", before?.names, page(cache?.of(isOfNames), before?.names));
  const reverse = loaded("reverse", before?.reverse, page(cache?.of(isOfReverseNames), before?.reverse));
  return new Generation(
    serial,
    trunk,
    takeOver(names, before?.names, cache),
    takeOver(reverse, before?.reverse, cache),
  );
}

export function isOfNames(segment: AnySegment): segment is Segment {
  return segment instanceof Segment;
}

export function isOfReverseNames(segment: AnySegment): segment is ReverseSegment {
  return segment instanceof ReverseSegment;
}

/** Gives a page what the one before has of it; segments only where no cache has them. */
export function takeOver<Content extends Blob>(
  page: Page<Content>,
  before: Page<Content> | undefined,
  cache: unknown,
): Page<Content> {
  if (page === before || before === undefined) return page;
  const { own, old } = difference(page, before);
  for (const { slot, branch } of own) {
    const same = old.get(slot);
    if (same?.hash !== branch.hash || same.kind !== branch.kind) continue;
    if (cache === undefined) branch.segment = same.segment;
    branch.page = same.page;
  }
  return page;
}

/** What two pages do not have at the same place: entries of the first one; branches of the other one, by their first slot. */
export function difference<Content extends Blob>(
  page: Page<Content> | undefined,
  before: Page<Content> | undefined,
): { readonly own: readonly PageEntry<Content>[]; readonly old: Map<number, Branch<Content>> } {
  const [entries, others] = [page?.entries ?? [], before?.entries ?? []];
  const own = entries.filter((entry, index) => entry !== others[index]);
  const gone = others.filter((entry, index) => entry !== entries[index]);
  return { own, old: new Map(gone.map(({ slot, branch }) => [slot, branch])) };
}
