import type { ImageZone, ZoneImage } from "../zone/image.ts";
import { apexHash, hashLabel } from "../zone/name-hash.ts";
import { QuestionName } from "./query.ts";

/** The closest zone that the question's name is in and that exists for the view. */
export function findZone(image: ZoneImage, view: number): ImageZone | undefined {
  for (const zone of image.zones) if (isInZone(zone) && image.treeFor(zone, view) >= 0) return zone;
  return undefined;
}

/** Whether the question's name is in a zone of the image, whoever sees it. */
export function isInAnyZone(image: ZoneImage): boolean {
  return image.zones.some(isInZone);
}

function isInZone(zone: ImageZone): boolean {
  const { folded, bytes, labels, labelAt } = QuestionName;
  const start = bytes - zone.wire.length;
  if (labels < zone.labels || start < 0) return false;
  if (labels > zone.labels ? labelAt[labels - zone.labels] !== start : start !== 0) return false;
  let index = 0;
  while (index < zone.wire.length && zone.wire[index] === folded[start + index]) index++;
  return index === zone.wire.length;
}

/** Whether a zone that exists for the view is below the question's name, which therefore exists (RFC 8020 section 2). */
export function isAboveZone(image: ZoneImage, view: number): boolean {
  return image.zones.some((zone) => isAbove(zone.wire) && image.treeFor(zone, view) >= 0);
}

/** Whether a name in wire form, letters folded, is below the question's name. */
export function isAbove(wire: Uint8Array): boolean {
  const { folded, bytes } = QuestionName;
  let start = 0;
  while (wire.length - start > bytes) start += wire[start]! + 1;
  if (start === 0 || wire.length - start !== bytes) return false;
  for (let index = 0; index < bytes; index++) if (wire[start + index] !== folded[index]) return false;
  return true;
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
