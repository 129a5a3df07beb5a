import type { MergeOptions } from "../../src/merge/merge-key.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import type { ZoneOptions } from "../../src/zone/zone-plan.ts";
import { entriesOf } from "./entries-of.ts";

/** The names of live clusters with these snapshots. */
export function worldOf(
  snapshots: readonly ClusterSnapshot[],
  options: Partial<ZoneOptions> = {},
  merging: MergeOptions = {},
): KeyWorld {
  return new KeyWorld(entriesOf(snapshots), options, merging, new Map());
}
