import { type FoldedName, labelStart } from "../dns/folded-name.ts";
import type { Tree, Zone } from "../zone/generation/frame.ts";
import type { Generation } from "../zone/generation/generation.ts";
import { NodeFlag } from "../zone/segment/layout.ts";
import { hashLabel, keyHash } from "../zone/segment/name-hash.ts";
import type { Segment } from "../zone/segment/segment.ts";
import type { Missing } from "./answer.ts";

/** Where a name is. */
export interface Location {
  readonly segment: Segment;
  readonly node: number;
}

/**
 * Looks a name up for a view, by its index. A name with a namespace is in the segment of its key, every other one in the stems.
 * @returns undefined if the name does not exist; the blob that has to come into memory first, if one has to
 */
export function locate(
  generation: Generation,
  zone: Zone,
  tree: number,
  name: FoldedName,
  view: number,
): Location | Missing | undefined {
  const { trunk } = generation;
  const labels = name.labels - zone.labels;
  const own = trunk.frame.trees[tree]!;
  for (const depth of own.depths) {
    if (labels <= depth) continue;
    const found = locateBelow(generation, zone, own, tree, name, view, depth);
    if (found !== undefined) return found;
  }
  const node = findStem(generation, zone, tree, name, 0);
  if (node < 0 || (trunk.lacks(view, node) && !trunk.stems.hasFlag(node, NodeFlag.everywhere)))
    return undefined;
  return { segment: trunk.stems, node };
}

/** The node in the stems of a name without its first `skip` labels, or -1. */
export function findStem(
  generation: Generation,
  zone: Zone,
  tree: number,
  name: FoldedName,
  skip: number,
): number {
  const { octets, bytes, labels } = name;
  const { frame, stems } = generation.trunk;
  let hash = frame.trees[tree]!.hash;
  for (let label = labels - zone.labels - 1; label >= skip; label--) {
    const at = labelStart(name, label);
    hash = hashLabel(hash, octets, at + 1, octets[at]!);
  }
  return stems.findNode(tree, octets, labelStart(name, skip), bytes - zone.wire.length, hash);
}

/** Looks a name up as one below a namespace whose own name has `depth` labels. */
function locateBelow(
  { trunk, names }: Generation,
  zone: Zone,
  tree: Tree,
  apex: number,
  name: FoldedName,
  view: number,
  depth: number,
): Location | Missing | undefined {
  const { octets } = name;
  const end = name.bytes - zone.wire.length;
  const first = name.labels - zone.labels - depth;
  let hash = tree.hash;
  let at = end;
  for (let label = first + depth - 1; label >= first; label--) {
    at = labelStart(name, label);
    hash = hashLabel(hash, octets, at + 1, octets[at]!);
  }
  const stem = trunk.stems.findNode(apex, octets, at, end, hash);
  if (stem < 0 || !trunk.stems.hasFlag(stem, NodeFlag.stem)) return undefined;
  const branch = names.find(keyHash(octets, at, labelStart(name, first - 1)));
  const { segment } = branch;
  if (segment === undefined) return { missing: branch };
  const own = segment.treeOf(tree.key);
  if (own < 0) return undefined;
  for (let label = first - 1; label >= 0; label--) {
    const start = labelStart(name, label);
    hash = hashLabel(hash, octets, start + 1, octets[start]!);
  }
  const node = segment.findNode(own, octets, 0, end, hash);
  if (node < 0 || (trunk.lacks(view, stem) && !segment.hasFlag(node, NodeFlag.everywhere))) return undefined;
  return { segment, node };
}
