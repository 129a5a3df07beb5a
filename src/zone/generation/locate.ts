import { type FoldedName, labelStart } from "../../dns/folded-name.ts";
import { NodeFlag } from "../segment/layout.ts";
import { apexHash, hashLabel, keyHash } from "../segment/name-hash.ts";
import type { Segment } from "../segment/segment.ts";
import type { Location, Missing } from "../world.ts";
import type { Page } from "./directory.ts";
import type { Frame, Tree, Zone } from "./frame.ts";

/** The parts of a generation that are searched. */
interface SearchedParts {
  readonly trunk: {
    readonly frame: Frame;
    readonly stems: Segment;
    lacks(view: number, stem: number): boolean;
  };
  readonly names: Page<Segment>;
}

/**
 * Looks a name up for a view, by its index. A name with a namespace is in the segment of its key, every other one in the stems.
 * @returns undefined if the name does not exist; the blob that has to come into memory first, if one has to
 */
export function locate(
  generation: SearchedParts,
  zone: Zone,
  tree: number,
  name: FoldedName,
  view: number,
): Location | Missing | undefined {
  const { trunk } = generation;
  const labels = name.labels - zone.labels;
  for (const depth of trunk.frame.trees[tree]!.depths) {
    if (labels <= depth) continue;
    const found = locateBelow(generation, zone, tree, name, view, depth);
    if (found !== undefined) return found;
  }
  const node = findStem(generation, zone, tree, name, 0);
  if (node < 0 || (trunk.lacks(view, node) && !trunk.stems.hasFlag(node, NodeFlag.everywhere)))
    return undefined;
  return { names: trunk.stems, node };
}

/** The node in the stems of a name without its first `skip` labels, or -1. */
export function findStem(
  { trunk }: SearchedParts,
  zone: Zone,
  tree: number,
  name: FoldedName,
  skip: number,
): number {
  const { frame, stems } = trunk;
  const hash = hashName(frame.trees[tree]!, stems.seed, zone, name, skip);
  return stems.findNode(tree, name.bytes, labelStart(name, skip), name.length - zone.wire.length, hash);
}

/** The hash of a name without its first `skip` labels in segments with a seed. */
function hashName(tree: Tree, seed: number, zone: Zone, name: FoldedName, skip: number): number {
  const { bytes } = name;
  let hash = apexHash(tree.hash, seed);
  for (let label = name.labels - zone.labels - 1; label >= skip; label--) {
    const at = labelStart(name, label);
    hash = hashLabel(hash, bytes, at + 1, bytes[at]!);
  }
  return hash;
}

/** Looks a name up as one below a namespace whose own name has `depth` labels. */
function locateBelow(
  generation: SearchedParts,
  zone: Zone,
  tree: number,
  name: FoldedName,
  view: number,
  depth: number,
): Location | Missing | undefined {
  const { trunk, names } = generation;
  const { bytes } = name;
  const planned = trunk.frame.trees[tree]!;
  // Nearly always the seed is 0. Then the CPU hashes the name while it waits for the segment.
  let hash = hashName(planned, 0, zone, name, 0);
  const namespace = name.labels - zone.labels - depth;
  const branch = names.find(keyHash(bytes, labelStart(name, namespace), labelStart(name, namespace - 1)));
  const { segment } = branch;
  // The stems are searched only if that matters: nearly every query without a view is for a name in a segment that is in memory.
  if (segment === undefined) {
    const stem = findStem(generation, zone, tree, name, namespace);
    return stem >= 0 && trunk.stems.hasFlag(stem, NodeFlag.stem) ? { missing: branch } : undefined;
  }
  const own = segment.treeOf(planned.key);
  if (own < 0) return undefined;
  if (segment.seed !== 0) hash = hashName(planned, segment.seed, zone, name, 0);
  const node = segment.findNode(own, bytes, 0, name.length - zone.wire.length, hash);
  if (node < 0) return undefined;
  if (!trunk.frame.lacksAny(view) || segment.hasFlag(node, NodeFlag.everywhere))
    return { names: segment, node };
  const stem = findStem(generation, zone, tree, name, namespace);
  return stem >= 0 && trunk.lacks(view, stem) ? undefined : { names: segment, node };
}
