import type * as z from "zod";
import { isJsonObject, PROTOTYPE_KEY, pathOfPrototypeKey } from "./json-value.ts";
import { ClusterSnapshot } from "./schema.ts";
import { collectIssues, formatPath, SnapshotError, type SnapshotIssue } from "./snapshot-error.ts";

/** The members of a snapshot that are tables of entries. */
export const COLLECTIONS = ["namespaces", "exports", "imports", "services", "pods", "findings"] as const;

/** Optional members that are one value, merged and validated whole. */
export const SINGLES = ["topology", "clusterZone"] as const;

export type Collection = (typeof COLLECTIONS)[number];
export type Entries = Record<string, unknown>;

/** Parsing stops at so many issues: a list of all would cost more than parsing a valid snapshot. */
export const ENOUGH_ISSUES = 1000;

const UNKNOWN_FIELD = "is not a known field";

/**
 * Parses a JSON value as a snapshot. The result is a copy that shares nothing with `value`.
 * @throws {SnapshotError} naming each invalid field, at most a thousand.
 */
export function parseSnapshot(value: unknown): ClusterSnapshot {
  if (!isJsonObject(value)) return parseWhole(value);
  const issues: SnapshotIssue[] = [];
  const tables = COLLECTIONS.filter((collection) => isJsonObject(value[collection]));
  // The snapshot without its entries.
  const shell = ClusterSnapshot.safeParse({
    ...value,
    ...Object.fromEntries(tables.map((collection) => [collection, {}])),
  });
  if (!shell.success) issues.push(...collectIssues(shell.error, []));
  const parsed: { [Name in Collection]?: Entries } = {};
  for (const collection of tables) {
    const entries: Entries = {};
    for (const [key, entry] of Object.entries(value[collection] as Entries)) {
      parseEntry(collection, entries, key, entry, issues);
      if (issues.length >= ENOUGH_ISSUES) throw new SnapshotError(issues);
    }
    parsed[collection] = entries;
  }
  if (issues.length > 0 || !shell.success) throw new SnapshotError(issues);
  return { ...shell.data, ...parsed } as ClusterSnapshot;
}

function parseWhole(value: unknown): ClusterSnapshot {
  const result = ClusterSnapshot.safeParse(value);
  if (!result.success) throw new SnapshotError(collectIssues(result.error, []));
  return result.data;
}

/** Parses a JSON value as an entry of a table, and adds it to `entries` if it is valid. */
function parseEntry(
  collection: Collection,
  entries: Entries,
  key: string,
  value: unknown,
  issues: SnapshotIssue[],
): void {
  if (key === PROTOTYPE_KEY) {
    issues.push({ path: formatPath([collection, key]), message: UNKNOWN_FIELD });
    return;
  }
  const table = ClusterSnapshot.shape[collection];
  const { keyType, valueType }: { keyType: z.ZodType; valueType: z.ZodType } =
    "keyType" in table ? table : table.unwrap();
  const checkedKey = keyType.safeParse(key);
  if (!checkedKey.success) {
    const message = `is not a valid key: ${checkedKey.error.issues[0]?.message}`;
    issues.push({ path: formatPath([collection, key]), message });
  }
  const checked = valueType.safeParse(value);
  if (!checked.success)
    for (const issue of collectIssues(checked.error, [collection, key])) issues.push(issue);
  else if (pathOfPrototypeKey(value) !== undefined)
    issues.push({
      path: formatPath([collection, key, ...pathOfPrototypeKey(value)!]),
      message: UNKNOWN_FIELD,
    });
  else if (checkedKey.success) entries[key] = checked.data;
}
