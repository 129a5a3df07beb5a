import { type Blob, Page, type SegmentMemory } from "../../zone/generation/directory.ts";
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
    <Content extends AnySegment>(memory: SegmentMemory<Content> | undefined) =>
    (bytes: Uint8Array<ArrayBuffer>, own: string) =>
      Page.load(bytes, own, true, memory);
  const names = loaded("names", before?.names, page(cache?.of(isOfNames)));
  const reverse = loaded("reverse", before?.reverse, page(cache?.of(isOfReverseNames)));
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
  const old = branchesOf(before);
  for (const { slot, branch } of page.entries) {
    const same = old.get(slot);
    if (same?.hash !== branch.hash || same.kind !== branch.kind) continue;
    if (cache === undefined) branch.segment = same.segment;
    branch.page = same.page;
  }
  return page;
}

/** The branches of a page by their first slot. */
export function branchesOf<Content extends Blob>(page: Page<Content> | undefined) {
  return new Map(page?.entries.map(({ slot, branch }) => [slot, branch]));
}
