import type { EntryChange, SnapshotDelta } from "../../snapshot/entry-changes.ts";
import type { HeldState } from "../../snapshot/lines/held-state.ts";
import type { HeldCluster, MeasuredChange } from "../leases/held-cluster.ts";
import { SMALL_CHANGE } from "../serving/change-size.ts";

/**
 * What takes a change back after it was served. Undefined for a change that must be stored first: a large one, one that may change the cluster's rank in a
 * service, since who came first is remembered for good, and one of entries that are read from the store.
 */
export function inverseOf(
  cluster: HeldCluster,
  { entries, singles }: SnapshotDelta,
): MeasuredChange | undefined {
  const { state } = cluster;
  if (state.isStored === true || entries.length > SMALL_CHANGE || Object.keys(singles).length > 0)
    return undefined;
  return entries.every((change) => keepsRank(state, change)) ? cluster.inverse(entries) : undefined;
}

/** Whether `Precedence.see` finds nothing to judge: no export or import that begins or ends to be served, and no other creation time. */
function keepsRank(state: HeldState, { collection, key, entry }: EntryChange): boolean {
  switch (collection) {
    case "namespaces":
      return false;
    case "exports": {
      const before = state.entry(collection, key);
      return entry !== undefined && before?.exportedAt === entry.exportedAt;
    }
    case "imports": {
      const before = state.entry(collection, key);
      return entry !== undefined && before !== undefined && before.managed === entry.managed;
    }
    default:
      return true;
  }
}
