import type { ImageZone, ZoneImage } from "../zone/image.ts";
import { apexHash, hashLabel } from "../zone/name-hash.ts";
import { QuestionName } from "./query.ts";

/** The closest zone that the question's name is in and that exists for the view. */
export function findZone(image: ZoneImage, view: number): ImageZone | undefined {
  const { folded, bytes, labels, labelAt } = QuestionName;
  for (const zone of image.zones) {
    const start = bytes - zone.wire.length;
    if (labels < zone.labels || start < 0) continue;
    if (labels > zone.labels ? labelAt[labels - zone.labels] !== start : start !== 0) continue;
    let index = 0;
    while (index < zone.wire.length && zone.wire[index] === folded[start + index]) index++;
    if (index === zone.wire.length && image.treeFor(zone, view) >= 0) return zone;
  }
  return undefined;
}

/** The node of the question's name, its first `skip` labels left off. */
export function findNode(image: ZoneImage, zone: ImageZone, tree: number, skip: number): number {
  const { folded, labels, labelAt, bytes } = QuestionName;
  let hash = apexHash(tree);
  for (let label = labels - zone.labels - 1; label >= skip; label--) {
    const at = labelAt[label]!;
    hash = hashLabel(hash, folded, at + 1, folded[at]!);
  }
  return image.findNode(tree, folded, labelAt[skip] ?? 0, bytes - zone.wire.length, hash);
}
