import { type FoldedName, isAboveZone, labelStart, startOfZone } from "../dns/folded-name.ts";
import type { ImageZone, ZoneImage } from "../zone/image/image.ts";
import { apexHash, hashLabel } from "../zone/image/name-hash.ts";

/** The closest zone of a name among the zones of the view. */
export function findZone(image: ZoneImage, name: FoldedName, view: number): ImageZone | undefined {
  for (const zone of image.zones)
    if (startOfZone(name, zone) >= 0 && image.treeFor(zone, view) >= 0) return zone;
  return undefined;
}

/** Whether a name is in a zone of the image, in any view. */
export function isInAnyZone(image: ZoneImage, name: FoldedName): boolean {
  return image.zones.some((zone) => startOfZone(name, zone) >= 0);
}

/** Whether a name is an ancestor of a zone of the view; then it exists (RFC 8020 section 2). */
export function isAboveAnyZone(image: ZoneImage, name: FoldedName, view: number): boolean {
  for (const zone of image.zones) if (isAboveZone(name, zone) && image.treeFor(zone, view) >= 0) return true;
  return false;
}

/** The node of a name without its first `skip` labels. */
export function findNode(
  image: ZoneImage,
  zone: ImageZone,
  tree: number,
  name: FoldedName,
  skip: number,
): number {
  const { octets, bytes, labels } = name;
  let hash = apexHash(tree);
  for (let label = labels - zone.labels - 1; label >= skip; label--) {
    const at = labelStart(name, label);
    hash = hashLabel(hash, octets, at + 1, octets[at]!);
  }
  return image.findNode(tree, octets, labelStart(name, skip), bytes - zone.wire.length, hash);
}
