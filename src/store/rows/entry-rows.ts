import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import type { Collection } from "../../snapshot/parse.ts";

/**
 * Collections of small entries, which share rows: a row is billed as one, whatever its length, and a cluster may have 100,000 pods, of some 30 bytes
 * each. Then a row has 12 KB.
 */
const SHARED: ReadonlySet<string> = new Set<Collection>(["namespaces", "pods", "findings"]);
/** Rows of a collection whose entries share them. */
const SHARED_ROWS = 256;

/** Where a value is kept. */
export interface RowPlace {
  readonly row: string;
  /** Its name among the values of the row. */
  readonly member: string;
}

/** The values of a row, by their names. */
export type RowValues = Record<string, unknown>;

/** Where the value of a line is kept: single values and large entries have rows of their own. */
export function placeOf(line: PatchLine): RowPlace {
  return line.length === 2 ? { row: line[0], member: line[0] } : placeOfEntry(line[0], line[1]);
}

/** Where an entry is kept. */
export function placeOfEntry(collection: Collection, key: string): RowPlace {
  return {
    row: SHARED.has(collection) ? `${collection}#${bucketOf(key)}` : `${collection}/${key}`,
    member: key,
  };
}

/** Whether entries share a row. */
export function isShared(row: string): boolean {
  return row.includes("#") && !row.includes("/");
}

/** The first row of a collection, and the first one after all of its rows. */
export function rowsOf(collection: Collection): readonly [from: string, before: string] {
  // In ASCII "$" follows "#", and "0" follows "/".
  return SHARED.has(collection) ? [`${collection}#`, `${collection}$`] : [`${collection}/`, `${collection}0`];
}

/** The lines that make the values of a row from nothing. */
export function* linesOfRow(row: string, values: RowValues): Generator<PatchLine> {
  const name = /^[a-zA-Z]+/.exec(row)?.[0];
  for (const member of Object.keys(values))
    yield (name === row ? [row, values[member]] : [name, member, values[member]]) as unknown as PatchLine;
}

/** FNV-1a. */
function bucketOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return (hash >>> 0) % SHARED_ROWS;
}
