import type { ChangeFollower, ChangingPart, ExtractedState } from "../../extract/extracted-state.ts";
import { equalJson, isJsonObject } from "../../snapshot/json-value.ts";
import type { SnapshotPatch } from "../../snapshot/lines/patch-line.ts";
import { diffJson } from "../../snapshot/merge-patch.ts";

/**
 * The entries of a state that changed since a gateway had it all, each as the gateway has it. A change and what is sent of it cost the same
 * at any size of the state.
 */
export class UnsentChanges {
  /** By table, then by key; undefined where the gateway has no entry. */
  readonly #before = new Map<ChangingPart, Map<string, unknown>>();

  /** Notes a change of the state. One that takes back another is as if neither had been. */
  readonly follow: ChangeFollower = (part, key, before, after) => {
    const entries = this.#entriesOf(part);
    if (!entries.has(key)) entries.set(key, before);
    else if (entries.get(key) === after) entries.delete(key);
  };

  /** The smallest patch that gives the gateway the state as it is now; undefined if it has that. Forgets entries that are as before. */
  toPatch(state: ExtractedState): SnapshotPatch | undefined {
    const patch: Record<string, unknown> = {};
    for (const [part, entries] of this.#before)
      for (const [key, before] of entries) {
        const change = diffEntry(before, state.entry(part, key));
        if (change === undefined) entries.delete(key);
        else if (part === "topology") patch[part] = change;
        else {
          patch[part] ??= {};
          (patch[part] as Record<string, unknown>)[key] = change;
        }
      }
    return Object.keys(patch).length === 0 ? undefined : patch;
  }

  /** Takes the changes since these were sent: the gateway did not take them. */
  add(later: UnsentChanges): void {
    for (const [part, entries] of later.#before) {
      const mine = this.#entriesOf(part);
      for (const [key, before] of entries) if (!mine.has(key)) mine.set(key, before);
    }
  }

  get isEmpty(): boolean {
    for (const { size } of this.#before.values()) if (size > 0) return false;
    return true;
  }

  #entriesOf(part: ChangingPart): Map<string, unknown> {
    const entries = this.#before.get(part) ?? new Map<string, unknown>();
    this.#before.set(part, entries);
    return entries;
  }
}

/** The change of one entry as a merge patch; null removes it; undefined if there is none. */
function diffEntry(before: unknown, after: unknown): unknown {
  if (after === undefined) return before === undefined ? undefined : null;
  if (isJsonObject(before) && isJsonObject(after)) return diffJson(before, after);
  return equalJson(before, after) ? undefined : after;
}
