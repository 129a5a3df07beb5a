import type { Branch } from "../generation/directory.ts";
import { joinBlocks } from "../segment/blocks/join-blocks.ts";
import type { BlockSource, KeyBlock } from "../segment/blocks/key-block.ts";
import { hashInSteps } from "../segment/hash.ts";
import { Segment } from "../segment/segment.ts";
import { type HeldBlock, holdInBranch } from "./held-block.ts";
import { type BuiltKey, compileKey, type KeySource } from "./key-compiler.ts";
import type { NameKey } from "./name-keys.ts";

/** A compiled segment. */
export interface CompiledSegment {
  readonly branch: Branch<Segment>;
  /** The block of each of its keys in it. */
  readonly blocks: ReadonlyMap<NameKey, HeldBlock>;
  /** The keys that were compiled; the names of all others were copied from the segments before. */
  readonly built: ReadonlyMap<NameKey, BuiltKey>;
}

/**
 * Compiles a segment with the names of some keys, in steps. It equals the segment for which all of them were compiled.
 * @param mayDiffer whether a key that was compiled before may have other names now. A key whose segment cannot be had is compiled as well
 */
export function* compileSegment(
  from: KeySource,
  given: Iterable<NameKey>,
  mayDiffer: (key: NameKey) => boolean,
  hold = holdInBranch,
): Generator<void, CompiledSegment> {
  const keys = [...given].sort((one, other) => (one.key < other.key ? -1 : 1));
  const built = new Map<NameKey, BuiltKey>();
  const parts: KeyBlock[] = [];
  const sources = new Map<Branch<Segment>, BlockSource | undefined>();
  for (const key of keys) {
    const known = key.compiled === undefined || mayDiffer(key) ? undefined : key.compiled.block;
    const copied = known && blockOf(known, sources);
    if (copied !== undefined) parts.push(copied);
    else {
      const own = yield* compileKey(from, key);
      built.set(key, own);
      parts.push(own.block);
    }
  }
  const { bytes, tables, ranges } = yield* joinBlocks(parts, from.pace);
  const segment = Segment.compiled(bytes, yield* hashInSteps(bytes), tables);
  const branch = hold(segment);
  return { branch, built, blocks: new Map(keys.map((key, index) => [key, { branch, ...ranges[index]! }])) };
}

/** The names of a key as they are copied, of a segment that is read once for all of its keys; undefined where it cannot be had. */
function blockOf(
  { branch, ...range }: HeldBlock,
  sources: Map<Branch<Segment>, BlockSource | undefined>,
): KeyBlock | undefined {
  if (!sources.has(branch)) sources.set(branch, branch.segment?.source());
  const source = sources.get(branch);
  return source && { source, ...range };
}
