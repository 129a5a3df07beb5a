import { joinBlocks } from "../segment/blocks/join-blocks.ts";
import type { KeyBlock } from "../segment/blocks/key-block.ts";
import { hashInSteps } from "../segment/hash.ts";
import { Segment } from "../segment/segment.ts";
import { type BuiltKey, compileKey, type KeySource } from "./key-compiler.ts";
import type { NameKey } from "./name-keys.ts";

/** A compiled segment. */
export interface CompiledSegment {
  readonly segment: Segment;
  /** The block of each of its keys in it. */
  readonly blocks: ReadonlyMap<NameKey, KeyBlock>;
  /** The keys that were compiled; the names of all others were copied from the segments before. */
  readonly built: ReadonlyMap<NameKey, BuiltKey>;
}

/**
 * Compiles a segment with the names of some keys, in steps. It equals the segment for which all of them were compiled.
 * @param mayDiffer whether a key that was compiled before may have other names now
 */
export function* compileSegment(
  from: KeySource,
  given: Iterable<NameKey>,
  mayDiffer: (key: NameKey) => boolean,
): Generator<void, CompiledSegment> {
  const keys = [...given].sort((one, other) => (one.key < other.key ? -1 : 1));
  const built = new Map<NameKey, BuiltKey>();
  const parts: KeyBlock[] = [];
  for (const key of keys) {
    if (key.compiled !== undefined && !mayDiffer(key)) parts.push(key.compiled.block);
    else {
      const own = yield* compileKey(from, key);
      built.set(key, own);
      parts.push(own.block);
    }
  }
  const { bytes, tables, ranges } = yield* joinBlocks(parts, from.pace);
  const segment = Segment.compiled(bytes, yield* hashInSteps(bytes), tables);
  const source = segment.source();
  return { segment, built, blocks: new Map(keys.map((key, index) => [key, { source, ...ranges[index]! }])) };
}
