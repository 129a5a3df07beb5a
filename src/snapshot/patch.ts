import type { z } from "zod";
import { isJsonObject, ownMember } from "./json-value.ts";
import { MergePatchError, mergePatch } from "./merge-patch.ts";
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

const COLLECTIONS = ["namespaces", "exports", "imports", "findings"] as const;
type Collection = (typeof COLLECTIONS)[number];
type Entries = Record<string, unknown>;

const FIXED = new Set(["formatVersion", "clusterId"]);
const KNOWN = new Set<string>(["topology", ...COLLECTIONS]);

/**
 * The snapshot that a patch leads to. Entries that the patch does not change keep their identity and
 * are not looked at again; each entry that it changes is validated whole.
 * @throws {SnapshotError} naming each field of the patch, or of an entry after it, that is wrong.
 */
export function applyPatch(base: ClusterSnapshot, patch: SnapshotPatch): ClusterSnapshot {
  return applyPatches(base, [patch]);
}

/**
 * Applies patches one after the other. The entries are validated as they are after the last one, and
 * the tables of entries are copied once, so that replaying a journal does not cost a copy for each record.
 * @throws {SnapshotError} as for `applyPatch`.
 */
export function applyPatches(base: ClusterSnapshot, patches: readonly SnapshotPatch[]): ClusterSnapshot {
  const issues: SnapshotIssue[] = [];
  const drafts = new Map<Collection, Entries>();
  const touched = new Map<Collection, Set<string>>();
  let topology: unknown = base.topology;

  for (const patch of patches) {
    checkMembers(patch, issues);
    if (Object.hasOwn(patch, "topology"))
      topology = mergeAt(issues, ["topology"], topology, patch.topology ?? undefined);
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
    for (const key of keys) validateEntry(collection, drafts.get(collection)!, key, issues);
  const parsedTopology = topology === base.topology ? base.topology : parseTopology(topology, issues);
  if (issues.length > 0) throw new SnapshotError(issues);
  if (drafts.size === 0 && parsedTopology === base.topology) return base;

  const { topology: _, ...rest } = base;
  // Every entry in the drafts was validated above, or comes from the base.
  const snapshot = { ...rest, ...Object.fromEntries(drafts) } as ClusterSnapshot;
  return parsedTopology === undefined ? snapshot : { ...snapshot, topology: parsedTopology };
}

function checkMembers(patch: SnapshotPatch, issues: SnapshotIssue[]): void {
  for (const name of Object.keys(patch)) {
    const path = formatPath([name]);
    if (FIXED.has(name)) issues.push({ path, message: "cannot be changed by a patch: send a full snapshot" });
    else if (!KNOWN.has(name)) issues.push({ path, message: "is not a known field" });
    else if (name !== "topology" && !isJsonObject(patch[name]))
      issues.push({ path, message: "must be an object whose members are the entries that change" });
  }
}

function mergeAt(issues: SnapshotIssue[], path: PathStep[], before: unknown, change: unknown): unknown {
  if (path.includes("__proto__")) {
    issues.push({ path: formatPath(path), message: "is not a valid key" });
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

function validateEntry(collection: Collection, draft: Entries, key: string, issues: SnapshotIssue[]): void {
  if (!Object.hasOwn(draft, key)) return;
  const { keyType, valueType }: { keyType: z.ZodType; valueType: z.ZodType } =
    ClusterSnapshot.shape[collection];
  const keyResult = keyType.safeParse(key);
  if (!keyResult.success) {
    const message = `is not a valid key: ${keyResult.error.issues[0]?.message}`;
    issues.push({ path: formatPath([collection, key]), message });
  }
  const result = valueType.safeParse(draft[key]);
  if (result.success) draft[key] = result.data;
  else issues.push(...collectIssues(result.error, [collection, key]));
}

function parseTopology(value: unknown, issues: SnapshotIssue[]): ClusterSnapshot["topology"] {
  const result = ClusterSnapshot.shape.topology.safeParse(value);
  if (!result.success) issues.push(...collectIssues(result.error, ["topology"]));
  return result.data;
}
