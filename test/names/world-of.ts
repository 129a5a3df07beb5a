import type { MergeOptions } from "../../src/merge/merge-key.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import { SnapshotEntries } from "../../src/names/snapshot-entries.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import type { ZoneOptions } from "../../src/zone/zone-plan.ts";

/** The names of live clusters with these snapshots. */
export function worldOf(
  snapshots: readonly ClusterSnapshot[],
  options: Partial<ZoneOptions> = {},
  merging: MergeOptions = {},
): KeyWorld {
  return new KeyWorld(new SnapshotEntries(snapshots), options, merging, new Map());
}
