import { diffJson } from "../../src/snapshot/json-value.ts";
import type { SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";

/**
 * The smallest patch that turns one snapshot into another of the same cluster; undefined if they are
 * equal. Parts that both share by identity cost nothing.
 * @throws {RangeError} if the two have different clusters or format versions.
 */
export function diffSnapshots(from: ClusterSnapshot, to: ClusterSnapshot): SnapshotPatch | undefined {
  if (from.clusterId !== to.clusterId || from.formatVersion !== to.formatVersion)
    throw new RangeError(
      `a patch cannot change the cluster id ("${from.clusterId}" to "${to.clusterId}") or the format version`,
    );
  return diffJson(from, to);
}
