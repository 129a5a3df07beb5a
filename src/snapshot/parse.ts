import type * as z from "zod";
import { drain } from "./drain.ts";
import { equalJson, isJsonObject, ownMember, PROTOTYPE_KEY, pathOfPrototypeKey } from "./json-value.ts";
import { ClusterSnapshot } from "./schema.ts";
import { collectIssues, formatPath, SnapshotError, type SnapshotIssue } from "./snapshot-error.ts";

/** The members of a snapshot that are tables of entries. */
export const COLLECTIONS = ["namespaces", "exports", "imports", "services", "pods", "findings"] as const;

/** Optional members that are one value, merged and validated whole. */
export const SINGLES = ["topology", "clusterZone"] as const;

export type Collection = (typeof COLLECTIONS)[number];
export type Entries = Record<string, unknown>;
/** An entry of a table. */
export type EntryOf<Name extends Collection> = ClusterSnapshot[Name][string];

/** Parsing stops at so many issues: a list of all would cost more than parsing a valid snapshot. */
export const ENOUGH_ISSUES = 1000;
/** Entries of one step. */
const ENTRIES_AT_ONCE = 64;

const UNKNOWN_FIELD = "is not a known field";

/** Options for large values. */
export interface ParseOptions {
  /** Whether the caller gives the value away: its entries are removed as they are read, so memory never holds them twice. */
  readonly consume?: boolean;
  /** The previous snapshot: equal parts are taken from it, keep their identity, and are not validated again. */
  readonly before?: ClusterSnapshot | undefined;
}

/**
 * Parses a JSON value as a snapshot. The result is a copy that shares nothing with `value`.
 * @throws {SnapshotError} naming each invalid field, at most a thousand.
 */
export function parseSnapshot(value: unknown, options?: ParseOptions): ClusterSnapshot {
  return drain(parseInSteps(value, options));
}

/**
 * The same in steps of some entries, so that the caller can do other work in between: a large snapshot takes seconds.
 * @throws {SnapshotError} as for `parseSnapshot`
 */
export function* parseInSteps(
  value: unknown,
  { consume = false, before }: ParseOptions = {},
): Generator<void, ClusterSnapshot> {
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
  let count = 0;
  for (const collection of tables) {
    const entries: Entries = {};
    const known: Entries = before?.[collection] ?? {};
    const given = value[collection] as Entries;
    const keys = Object.keys(given);
    let isSame = keys.length === Object.keys(known).length;
    for (const key of keys) {
      const same = ownMember(known, key);
      if (same !== undefined && equalJson(given[key], same)) entries[key] = same;
      else {
        parseEntry(collection, entries, key, given[key], issues);
        isSame = false;
      }
      if (consume) given[key] = undefined;
      if (issues.length >= ENOUGH_ISSUES) throw new SnapshotError(issues);
      if (++count % ENTRIES_AT_ONCE === 0) yield;
    }
    parsed[collection] = isSame ? known : entries;
  }
  if (issues.length > 0 || !shell.success) throw new SnapshotError(issues);
  return { ...shell.data, ...parsed, ...sameSingles(shell.data, before) } as ClusterSnapshot;
}

function sameSingles(now: ClusterSnapshot, before: ClusterSnapshot | undefined): Partial<ClusterSnapshot> {
  const same = SINGLES.filter((name) => now[name] !== undefined && equalJson(now[name], before?.[name]));
  return Object.fromEntries(same.map((name) => [name, before?.[name]]));
}

function parseWhole(value: unknown): ClusterSnapshot {
  const result = ClusterSnapshot.safeParse(value);
  if (!result.success) throw new SnapshotError(collectIssues(result.error, []));
  return result.data;
}

/** Parses a JSON value as an entry of a table, and adds it to `entries` if it is valid. */
export function parseEntry(
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
