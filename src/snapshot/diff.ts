import { diffJson } from "./merge-patch.ts";
import type { SnapshotPatch } from "./patch.ts";
import type { ClusterSnapshot } from "./schema.ts";

/**
 * The smallest patch that leads from one snapshot to another of the same cluster; undefined when they
 * say the same. Parts that both share by identity cost nothing.
 * @throws {RangeError} when the two are of different clusters or format versions.
 */
export function diffSnapshots(from: ClusterSnapshot, to: ClusterSnapshot): SnapshotPatch | undefined {
  if (from.clusterId !== to.clusterId || from.formatVersion !== to.formatVersion)
    throw new RangeError(
      `no patch leads from cluster "${from.clusterId}" to "${to.clusterId}" or to another format version`,
    );
  return diffJson(from, to);
}
