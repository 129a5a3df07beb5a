import { diffJson } from "../../src/snapshot/json-value.ts";
import type { SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";

/** The smallest patch that turns a snapshot into another of its cluster; undefined if they are equal. */
export function diffSnapshots(from: ClusterSnapshot, to: ClusterSnapshot): SnapshotPatch | undefined {
  return diffJson(from, to);
}
