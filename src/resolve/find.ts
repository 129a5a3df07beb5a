import { type FoldedName, isAboveZone, labelStart, startOfZone } from "../dns/folded-name.ts";
import type { ImageZone, ZoneImage } from "../zone/image.ts";
import { apexHash, hashLabel } from "../zone/name-hash.ts";

/** The closest zone that a name is in and that exists for the view. */
export function findZone(image: ZoneImage, name: FoldedName, view: number): ImageZone | undefined {
  for (const zone of image.zones)
    if (startOfZone(name, zone) >= 0 && image.treeFor(zone, view) >= 0) return zone;
  return undefined;
}

/** Whether a name is in a zone of the image, in whatever view that zone exists. */
export function isInAnyZone(image: ZoneImage, name: FoldedName): boolean {
  return image.zones.some((zone) => startOfZone(name, zone) >= 0);
}

/** Whether a zone that exists for the view is below a name, which therefore exists (RFC 8020 section 2). */
export function isAboveAnyZone(image: ZoneImage, name: FoldedName, view: number): boolean {
  for (const zone of image.zones) if (isAboveZone(name, zone) && image.treeFor(zone, view) >= 0) return true;
  return false;
}

/** The node of a name, its first `skip` labels left off. */
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
