import type { Page } from "../../zone/generation/directory.ts";
import type { Generation } from "../../zone/generation/generation.ts";
import { branchesOf } from "./load-root.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A page of a directory, whatever its segments are. */
type AnyPage = Page<{ readonly bytes: Bytes }>;

/** Reads a part of a generation that is in memory; undefined for one that is not, and cannot be had any more. */
export type ReadPart = () => Bytes | undefined;

/** Is told which parts generations have. */
export interface PartFollower {
  /** A part is in the generation once, or once more often. @param isNew whether a page names it that the generation before named otherwise */
  use(hash: string, read: ReadPart, isNew: boolean): void;
  /** A part is in the generation once less often. */
  drop(hash: string): void;
}

/** Tells in which parts a generation differs from the one before, at the cost of these. All that `after` has is used before anything is dropped. */
export function followParts(
  follower: PartFollower,
  after: Generation | undefined,
  before: Generation | undefined,
): void {
  const unused: string[] = [];
  const uses: PartFollower = {
    use: (hash, read, isNew) => follower.use(hash, read, isNew),
    drop: (hash) => void unused.push(hash),
  };
  if (after !== undefined)
    for (const { hash, bytes } of trunkOf(after)) follower.use(hash, () => bytes, false);
  if (before !== undefined) for (const { hash } of trunkOf(before)) unused.push(hash);
  followPage(uses, after?.names, before?.names, false);
  followPage(uses, after?.reverse, before?.reverse, false);
  for (const hash of unused) follower.drop(hash);
}

function trunkOf({ rootHash, root, frame, stems }: Generation) {
  return [{ hash: rootHash, bytes: root }, frame, stems];
}

/** Uses what `after` has and drops what `before` has, but for what both have. */
function followPage(
  follower: PartFollower,
  after: AnyPage | undefined,
  before: AnyPage | undefined,
  isNew: boolean,
): void {
  if (after === before) return;
  if (after !== undefined) follower.use(after.hash, () => after.bytes, isNew);
  followEntries(follower, after, before);
  if (before !== undefined) follower.drop(before.hash);
}

function followEntries(
  follower: PartFollower,
  after: AnyPage | undefined,
  before: AnyPage | undefined,
): void {
  const old = branchesOf(before);
  for (const { slot, branch } of after?.entries ?? []) {
    const same = old.get(slot);
    if (branch.page !== undefined) {
      if (same?.page !== undefined) old.delete(slot);
      followPage(follower, branch.page, same?.page, branch.page.hash !== same?.hash);
    } else if (same?.hash === branch.hash) old.delete(slot);
    else follower.use(branch.hash, () => branch.segment?.bytes, true);
  }
  for (const { hash, page } of old.values())
    if (page !== undefined) followPage(follower, undefined, page, false);
    else follower.drop(hash);
}
