import { isJsonObject, type JsonObject, ownMember } from "../snapshot/json-value.ts";
import { COLLECTIONS, type Collection, SINGLES } from "../snapshot/parse.ts";

/** An optional member of a snapshot that is one value. */
export type Single = (typeof SINGLES)[number];

/** An RFC 7396 merge patch on one entry, or on a single value; null removes it. */
export type EntryPatch = JsonObject | null;

/** One change of a cluster's state. */
export type PatchLine =
  | readonly [single: Single, patch: EntryPatch]
  | readonly [collection: Collection, key: string, patch: EntryPatch];

/** The lines of a snapshot, or of a merge patch on one. */
export function* linesOf(patch: JsonObject): Generator<PatchLine> {
  for (const name of SINGLES) {
    const value = ownMember(patch, name);
    if (value !== undefined) yield [name, value as EntryPatch];
  }
  for (const collection of COLLECTIONS) {
    const table = ownMember(patch, collection);
    if (!isJsonObject(table)) continue;
    for (const key of Object.keys(table)) yield [collection, key, table[key] as EntryPatch];
  }
}

/** The lines of one entry, or of a single value. */
export function* linesOfEntry(path: readonly string[], value: JsonObject): Generator<PatchLine> {
  yield [...path, value] as unknown as PatchLine;
}
