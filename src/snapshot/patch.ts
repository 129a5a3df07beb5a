import { isJsonObject, ownMember } from "./json-value.ts";
import { MergePatchError, mergePatch } from "./merge-patch.ts";
import { COLLECTIONS, type Collection, ENOUGH_ISSUES, type Entries, parseEntry, SINGLES } from "./parse.ts";
import { ClusterSnapshot } from "./schema.ts";
import {
  collectIssues,
  formatPath,
  type PathStep,
  SnapshotError,
  type SnapshotIssue,
} from "./snapshot-error.ts";

/**
 * A delta between two snapshots of one cluster: an RFC 7396 JSON merge patch on the snapshot, so that
 * null removes a member and one changed endpoint costs bytes in proportion to that endpoint.
 */
export type SnapshotPatch = { readonly [key: string]: unknown };

type Singles = Pick<ClusterSnapshot, (typeof SINGLES)[number]>;

const FIXED = new Set(["formatVersion", "clusterId"]);
const KNOWN = new Set<string>([...SINGLES, ...COLLECTIONS]);

/**
 * The snapshot after a patch. Entries that the patch does not change keep their identity and
 * are not validated again; each entry that it changes is validated whole.
 * @throws {SnapshotError} naming each invalid field of the patch or of a patched entry.
 */
export function applyPatch(base: ClusterSnapshot, patch: SnapshotPatch): ClusterSnapshot {
  return applyPatches(base, [patch]);
}

/**
 * Applies patches one after the other. The entries are validated after the last patch, and
 * the tables of entries are copied once, so that replaying a journal does not cost a copy for each record.
 * @throws {SnapshotError} as for `applyPatch`.
 */
export function applyPatches(base: ClusterSnapshot, patches: readonly SnapshotPatch[]): ClusterSnapshot {
  const issues: SnapshotIssue[] = [];
  const drafts = new Map<Collection, Entries>();
  const touched = new Map<Collection, Set<string>>();
  const singles: Record<string, unknown> = {};
  for (const name of SINGLES) singles[name] = base[name];

  for (const patch of patches) {
    checkMembers(patch, issues);
    for (const name of SINGLES)
      if (Object.hasOwn(patch, name))
        singles[name] = mergeAt(issues, [name], singles[name], patch[name] ?? undefined);
    for (const collection of COLLECTIONS) {
      const changes = ownMember(patch, collection);
      if (!isJsonObject(changes)) continue;
      for (const key of Object.keys(changes)) {
        const entries = drafts.get(collection) ?? base[collection];
        const before = ownMember(entries, key);
        const after =
          changes[key] === null ? undefined : mergeAt(issues, [collection, key], before, changes[key]);
        if (after === before) continue;
        const draft = drafts.get(collection) ?? { ...entries };
        if (after === undefined) delete draft[key];
        else draft[key] = after;
        drafts.set(collection, draft);
        touched.set(collection, (touched.get(collection) ?? new Set()).add(key));
      }
    }
  }

  for (const [collection, keys] of touched)
    for (const key of keys) {
      const draft = drafts.get(collection)!;
      if (Object.hasOwn(draft, key)) parseEntry(collection, draft, key, draft[key], issues);
      if (issues.length >= ENOUGH_ISSUES) throw new SnapshotError(issues);
    }
  const changed = SINGLES.filter((name) => singles[name] !== base[name]);
  for (const name of changed) singles[name] = parseSingle(name, singles[name], issues);
  if (issues.length > 0) throw new SnapshotError(issues);
  if (drafts.size === 0 && changed.length === 0) return base;

  // Every entry in the drafts was validated above, or comes from the base.
  const snapshot = { ...base, ...Object.fromEntries(drafts) } as ClusterSnapshot;
  for (const name of changed) {
    if (singles[name] === undefined) delete snapshot[name];
    else Object.assign(snapshot, { [name]: singles[name] });
  }
  return snapshot;
}

function checkMembers(patch: SnapshotPatch, issues: SnapshotIssue[]): void {
  for (const name of Object.keys(patch)) {
    const path = formatPath([name]);
    if (FIXED.has(name)) issues.push({ path, message: "cannot be changed by a patch: send a full snapshot" });
    else if (!KNOWN.has(name)) issues.push({ path, message: "is not a known field" });
    else if (!isSingle(name) && !isJsonObject(patch[name]))
      issues.push({ path, message: "must be an object whose members are the entries that change" });
  }
}

function mergeAt(issues: SnapshotIssue[], path: PathStep[], before: unknown, change: unknown): unknown {
  if (path.includes("__proto__")) {
    issues.push({ path: formatPath(path), message: "is not a known field" });
    return before;
  }
  try {
    return mergePatch(before, change);
  } catch (error) {
    if (!(error instanceof MergePatchError)) throw error;
    issues.push({ path: formatPath([...path, ...error.path]), message: error.message });
    return before;
  }
}

function isSingle(name: string): name is keyof Singles {
  return (SINGLES as readonly string[]).includes(name);
}

function parseSingle(name: keyof Singles, value: unknown, issues: SnapshotIssue[]): Singles[keyof Singles] {
  const result = ClusterSnapshot.shape[name].safeParse(value);
  if (!result.success) issues.push(...collectIssues(result.error, [name]));
  return result.data;
}
