import { ownMember } from "../../snapshot/json-value.ts";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import { mergeInPlace } from "../snapshot-draft.ts";
import { isShared, placeOf, type RowValues } from "./entry-rows.ts";
import { DamagedRow, type EncodedRow, type FoundRow, type RowTable } from "./row-table.ts";

/** What becomes of the rows of a cluster. */
export interface RowChanges {
  readonly written: EncodedRow[];
  readonly removed: string[];
  /** By how much parts and characters of all rows grow; of a whole state, how many there are. */
  parts: number;
  characters: number;
}

/** The changes of rows that a delta makes. @throws {DamagedRow} if it changes a row that is damaged */
export function patchRows(table: RowTable, clusterId: string, lines: Iterable<PatchLine>): RowChanges {
  const rows = new Map<string, { readonly before: FoundRow | undefined; readonly values: RowValues }>();
  for (const line of lines) {
    const { row, member } = placeOf(line);
    let open = rows.get(row);
    if (open === undefined) {
      const before = table.read(clusterId, row);
      open = { before, values: before === undefined ? {} : JSON.parse(before.text) };
      rows.set(row, open);
    }
    applyTo(open.values, member, line.at(-1));
  }
  const changes: RowChanges = { written: [], removed: [], parts: 0, characters: 0 };
  for (const [row, { before, values }] of rows) {
    changes.parts -= before?.parts ?? 0;
    changes.characters -= before?.text.length ?? 0;
    if (Object.keys(values).length === 0) changes.removed.push(row);
    else write(table, clusterId, row, { values, before }, changes);
  }
  return changes;
}

/** The changes of rows that lead to a whole state, in steps. Lines of one entry must come one after the other. */
export function* replaceRows(
  table: RowTable,
  clusterId: string,
  lines: Iterable<PatchLine>,
  kept: Iterable<string>,
): Generator<void, RowChanges> {
  const changes: RowChanges = { written: [], removed: [], parts: 0, characters: 0 };
  const seen = new Set<string>();
  const shared = new Map<string, RowValues>();
  let open: { readonly row: string; readonly values: RowValues } | undefined;
  const close = (row: string, values: RowValues) =>
    write(table, clusterId, row, { values, before: readSound(table, clusterId, row) }, changes);
  for (const line of lines) {
    const { row, member } = placeOf(line);
    if (isShared(row)) {
      const values = shared.get(row) ?? {};
      shared.set(row, values);
      seen.add(row);
      applyTo(values, member, line.at(-1));
      continue;
    }
    if (open?.row !== row) {
      if (open !== undefined) close(open.row, open.values);
      if (seen.has(row)) throw new RangeError(`lines of ${row} are apart`);
      seen.add(row);
      open = { row, values: {} };
      yield;
    }
    applyTo(open.values, member, line.at(-1));
  }
  if (open !== undefined) close(open.row, open.values);
  for (const [row, values] of shared) {
    close(row, values);
    yield;
  }
  for (const row of kept) if (!seen.has(row)) changes.removed.push(row);
  return changes;
}

function write(
  table: RowTable,
  clusterId: string,
  row: string,
  { values, before }: { readonly values: RowValues; readonly before: FoundRow | undefined },
  changes: RowChanges,
): void {
  const text = JSON.stringify(values);
  if (text === before?.text) {
    changes.parts += before.parts;
    changes.characters += before.text.length;
    return;
  }
  const encoded = table.encode(clusterId, row, text);
  changes.parts += encoded.parts.length;
  changes.characters += text.length;
  changes.written.push(encoded);
}

/** A row; undefined for a damaged one too, which is written anew. */
function readSound(table: RowTable, clusterId: string, row: string): FoundRow | undefined {
  try {
    return table.read(clusterId, row);
  } catch (error) {
    if (error instanceof DamagedRow) return undefined;
    throw error;
  }
}

function applyTo(values: RowValues, member: string, patch: unknown): void {
  if (patch === null) delete values[member];
  else values[member] = mergeInPlace(ownMember(values, member), patch);
}
