import { COLLECTION_PLANS } from "../snapshot/lines/entry-plan.ts";
import type { EntryPatch, PatchLine } from "../snapshot/lines/patch-line.ts";
import { hasFewMembers, splitPatch } from "../snapshot/lines/split-patch.ts";
import type { Collection } from "../snapshot/parse.ts";

/** The lines of a merge patch of one entry, or of a single value: one, or several if it has many members. */
export function* linesOfEntry(path: readonly string[], patch: EntryPatch): Generator<PatchLine> {
  const plan = path.length === 2 ? COLLECTION_PLANS[path[0] as Collection].member : undefined;
  if (patch === null || plan === undefined || hasFewMembers(plan, patch)) yield lineOf(path, patch);
  else for (const piece of splitPatch(plan, patch)) yield lineOf(path, piece);
}

function lineOf(path: readonly string[], patch: EntryPatch): PatchLine {
  return [...path, patch] as unknown as PatchLine;
}
