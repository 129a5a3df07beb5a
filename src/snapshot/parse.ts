import { ClusterSnapshot } from "./schema.ts";
import { collectIssues, SnapshotError } from "./snapshot-error.ts";

/**
 * Takes a JSON value as a snapshot. The result is a copy that shares nothing with `value`.
 * @throws {SnapshotError} naming each field that is wrong.
 */
export function parseSnapshot(value: unknown): ClusterSnapshot {
  const result = ClusterSnapshot.safeParse(value);
  if (!result.success) throw new SnapshotError(collectIssues(result.error, []));
  return result.data;
}
