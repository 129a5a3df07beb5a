import type { Branch, Page } from "../../zone/generation/directory.ts";
import type { Generation } from "../../zone/generation/generation.ts";
import { ReverseSegment } from "../../zone/segment/reverse-segment.ts";
import { Segment } from "../../zone/segment/segment.ts";
import type { AnySegment } from "./any-segment.ts";
import { difference } from "./load-root.ts";

/** Makes a segment of bytes. @throws {FormatError} for bytes that are not a well-formed one */
export type LoadSegment = (bytes: Uint8Array<ArrayBuffer>, hash: string) => AnySegment;

/** A branch whose page or segment is not in memory. */
export interface Lack {
  readonly branch: Branch<AnySegment>;
  /** What was in its place in the generation before. */
  readonly before: Branch<AnySegment> | undefined;
  readonly loadSegment: LoadSegment;
}

/**
 * What of a generation is neither in memory nor in the generation before: pages of the directories, or in pages that are in memory, segments.
 */
export function* lacksOf(
  generation: Generation,
  before: Generation | undefined,
  kind: "page" | "segment",
  isHere: (branch: Branch<AnySegment>) => boolean,
): Generator<Lack> {
  yield* inPage(generation.names, before?.names, kind, isHere, Segment.load);
  yield* inPage(generation.reverse, before?.reverse, kind, isHere, ReverseSegment.load);
}

function* inPage(
  page: Page<AnySegment>,
  before: Page<AnySegment> | undefined,
  kind: "page" | "segment",
  isHere: (branch: Branch<AnySegment>) => boolean,
  loadSegment: LoadSegment,
): Generator<Lack> {
  if (page === before) return;
  const { own, old } = difference(page, before);
  for (const { slot, branch } of own) {
    const same = old.get(slot);
    if (branch.page !== undefined) {
      if (kind === "segment") yield* inPage(branch.page, same?.page, kind, isHere, loadSegment);
    } else if (branch.kind === kind && !isHere(branch)) yield { branch, before: same, loadSegment };
  }
}
