import { isJsonObject, type JsonObject, ownMember } from "../snapshot/json-value.ts";
import type { HeldState, SnapshotDelta } from "../snapshot/lines/delta.ts";
import { COLLECTION_PLANS } from "../snapshot/lines/entry-plan.ts";
import type { EntryPatch, PatchLine, Single } from "../snapshot/lines/patch-line.ts";
import { hasFewMembers, splitPatch } from "../snapshot/lines/split-patch.ts";
import { diffJson } from "../snapshot/merge-patch.ts";
import { COLLECTIONS, type Collection, SINGLES } from "../snapshot/parse.ts";

/** The lines of a snapshot, or of a merge patch on one. */
export function* linesOf(patch: JsonObject): Generator<PatchLine> {
  for (const name of SINGLES) {
    const value = ownMember(patch, name);
    if (value !== undefined) yield [name, value as EntryPatch];
  }
  for (const collection of COLLECTIONS) {
    const table = ownMember(patch, collection);
    if (!isJsonObject(table)) continue;
    for (const key of Object.keys(table)) yield* linesOfEntry([collection, key], table[key] as EntryPatch);
  }
}

/** The lines of a change, before it is made: the smallest patch of each entry. */
export function* linesOfDelta({ singles, entries }: SnapshotDelta, held: HeldState): Generator<PatchLine> {
  for (const name of Object.keys(singles) as Single[])
    yield* linesOfChange([name], held.single(name), singles[name]);
  for (const { collection, key, entry } of entries)
    yield* linesOfChange([collection, key], held.entry(collection, key), entry);
}

/** The lines of a merge patch of one entry, or of a single value: one, or several if it has many members. */
export function* linesOfEntry(path: readonly string[], patch: EntryPatch): Generator<PatchLine> {
  const plan = path.length === 2 ? COLLECTION_PLANS[path[0] as Collection].member : undefined;
  if (patch === null || plan === undefined || hasFewMembers(plan, patch)) yield lineOf(path, patch);
  else for (const piece of splitPatch(plan, patch)) yield lineOf(path, piece);
}

function* linesOfChange(path: readonly string[], before: unknown, after: unknown): Generator<PatchLine> {
  if (!isJsonObject(after)) yield lineOf(path, null);
  else if (!isJsonObject(before)) yield* linesOfEntry(path, after);
  else {
    const patch = diffJson(before, after);
    if (patch !== undefined) yield* linesOfEntry(path, patch);
  }
}

function lineOf(path: readonly string[], patch: EntryPatch): PatchLine {
  return [...path, patch] as unknown as PatchLine;
}
