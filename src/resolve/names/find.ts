import { type FoldedName, isAboveZone, startOfZone } from "../../dns/folded-name.ts";
import type { Frame, Zone } from "../../zone/frame.ts";

/** The closest zone of a name among the zones of the view. */
export function findZone(frame: Frame, name: FoldedName, view: number): Zone | undefined {
  for (const zone of frame.zones)
    if (startOfZone(name, zone) >= 0 && frame.treeFor(zone, view) >= 0) return zone;
  return undefined;
}

/** Whether a name is in a zone, in any view. */
export function isInAnyZone(frame: Frame, name: FoldedName): boolean {
  return frame.zones.some((zone) => startOfZone(name, zone) >= 0);
}

/** Whether a name is an ancestor of a zone of the view; then it exists (RFC 8020 section 2). */
export function isAboveAnyZone(frame: Frame, name: FoldedName, view: number): boolean {
  for (const zone of frame.zones) if (isAboveZone(name, zone) && frame.treeFor(zone, view) >= 0) return true;
  return false;
}
