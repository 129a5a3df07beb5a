import { drain } from "../../snapshot/drain.ts";
import { type Blob, type Branch, type Page, RememberedBranch } from "../../zone/generation/directory.ts";
import type { Generation } from "../../zone/generation/generation.ts";
import { difference } from "./load-root.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A page of a directory, whatever its segments are. */
type AnyPage = Page<{ readonly bytes: Bytes }>;

/** A part of a generation. */
export interface UsedPart {
  /** Bytes that are in memory as long as the part is referred to. */
  readonly heldBytes: number;
  /** The length of the part. */
  readonly byteLength: number;
  /** Undefined for a part that cannot be had any more. */
  read(): Bytes | undefined;
}

/** Called with the parts that generations have. */
export interface PartFollower {
  /** A part is in the generation once, or once more often. @param isNew whether a page names it where the generation before has another one */
  use(hash: string, part: UsedPart, isNew: boolean): void;
  /** A part is in the generation once less often. */
  drop(hash: string): void;
}

/** Tells in which parts a generation differs from the one before, at the cost of these. All that `after` has is used before anything is dropped. */
export function followParts(
  follower: PartFollower,
  after: Generation | undefined,
  before: Generation | undefined,
): void {
  drain(followInSteps(follower, after, before));
}

/** `followParts`, in a step for each page that differs. Everything is dropped in the last one. */
export function* followInSteps(
  follower: PartFollower,
  after: Generation | undefined,
  before: Generation | undefined,
): Generator<void> {
  const unused: string[] = [];
  const uses: PartFollower = {
    use: (hash, part, isNew) => follower.use(hash, part, isNew),
    drop: (hash) => void unused.push(hash),
  };
  if (after !== undefined)
    for (const { hash, bytes } of trunkOf(after)) follower.use(hash, new HeldPart(bytes), false);
  if (before !== undefined) for (const { hash } of trunkOf(before)) unused.push(hash);
  yield* followPage(uses, after?.names, before?.names, false);
  yield* followPage(uses, after?.reverse, before?.reverse, false);
  for (const hash of unused) follower.drop(hash);
}

function trunkOf({ rootHash, root, frame, stems }: Generation) {
  return [{ hash: rootHash, bytes: root }, frame, stems];
}

/** Uses what `after` has and drops what `before` has, but for what both have. */
function* followPage(
  follower: PartFollower,
  after: AnyPage | undefined,
  before: AnyPage | undefined,
  isNew: boolean,
): Generator<void> {
  if (after === before) return;
  if (after !== undefined) follower.use(after.hash, new HeldPart(after.bytes), isNew);
  yield* followEntries(follower, after, before);
  if (before !== undefined) follower.drop(before.hash);
  yield;
}

function* followEntries(
  follower: PartFollower,
  after: AnyPage | undefined,
  before: AnyPage | undefined,
): Generator<void> {
  const { own, old } = difference(after, before);
  for (const { slot, branch } of own) {
    const same = old.get(slot);
    if (branch.page !== undefined) {
      if (same?.page !== undefined) old.delete(slot);
      yield* followPage(follower, branch.page, same?.page, branch.page.hash !== same?.hash);
    } else if (same?.hash === branch.hash) old.delete(slot);
    else follower.use(branch.hash, partOf(branch), true);
  }
  for (const { hash, page } of old.values())
    if (page !== undefined) yield* followPage(follower, undefined, page, false);
    else follower.drop(hash);
}

class HeldPart implements UsedPart {
  readonly #bytes: Bytes;

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }

  get heldBytes(): number {
    return this.#bytes.length;
  }

  get byteLength(): number {
    return this.#bytes.length;
  }

  read(): Bytes {
    return this.#bytes;
  }
}

/** A segment that is read when a query needs it. */
class RememberedPart implements UsedPart {
  readonly heldBytes = 0;
  readonly #branch: RememberedBranch<Blob & { readonly bytes: Bytes }>;

  constructor(branch: RememberedBranch<Blob & { readonly bytes: Bytes }>) {
    this.#branch = branch;
  }

  get byteLength(): number {
    return this.#branch.byteLength ?? this.read()?.length ?? 0;
  }

  read(): Bytes | undefined {
    return this.#branch.segment?.bytes;
  }
}

/** The segment of a branch. A compiled generation has all of its own. */
function partOf(branch: Branch<{ readonly bytes: Bytes }>): UsedPart {
  return branch instanceof RememberedBranch
    ? new RememberedPart(branch)
    : new HeldPart(branch.segment!.bytes);
}
