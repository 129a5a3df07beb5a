import * as z from "zod";
import { KIND_OF, Kind } from "../../database/places.ts";
import type { EntryChange } from "../../database/prepare.ts";
import { bucketMembers, type EntryRow, isBucket } from "../../database/reader.ts";
import { type Collection, collectIssues, SnapshotError } from "../../snapshot/parse.ts";
import { Report } from "../../snapshot/report.ts";

/** Body of `POST /api/v1/clusters/{clusterId}/lease`. */
export const LeaseRequest = Report.extend({
  generation: z.int().meta({ description: "The generation that the worker was last acknowledged." }),
});

/**
 * Takes a JSON value as a request body.
 * @throws {SnapshotError} naming each field that is wrong.
 */
export function parseMessage<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw new SnapshotError(collectIssues(result.error, []));
  return result.data;
}

/** How many entries of a table are new, other than before, and gone. */
interface TableChanges {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** The tables with changes, alone. */
export type ChangeCounts = { readonly [Name in Collection]?: TableChanges };

/** Counts what a push changed, for the audit log. */
export function countChanges(entries: readonly EntryChange[]): ChangeCounts {
  const counted: { [Name in Collection]?: { added: number; changed: number; removed: number } } = {};
  for (const { before, after } of entries) {
    const table = TABLES.get((before ?? after)!.kind);
    if (table === undefined) continue;
    const old = membersOf(before);
    const now = membersOf(after);
    for (const name of new Set([...old.keys(), ...now.keys()])) {
      if (old.get(name) === now.get(name)) continue;
      counted[table] ??= { added: 0, changed: 0, removed: 0 };
      if (!now.has(name)) counted[table].removed++;
      else if (!old.has(name)) counted[table].added++;
      else counted[table].changed++;
    }
  }
  return counted;
}

/** Counts the removal of all that a cluster has. @param totals entries of each table */
export function countRemoval(totals: Readonly<Record<Collection, number>>): ChangeCounts {
  const tables = [...TABLES.values()].filter((table) => totals[table] > 0);
  return Object.fromEntries(tables.map((table) => [table, { added: 0, changed: 0, removed: totals[table] }]));
}

const TABLES: ReadonlyMap<Kind, Collection> = new Map(
  (Object.keys(KIND_OF) as (keyof typeof KIND_OF)[]).flatMap((name) =>
    KIND_OF[name] === Kind.single ? [] : [[KIND_OF[name], name as Collection]],
  ),
);

/** The entries of a row as text, by name; none for one that is gone. */
function membersOf(row: EntryRow | undefined): ReadonlyMap<string, string> {
  if (row === undefined || row.texts[0] === "" || isBucket(row.kind)) return bucketMembers(row);
  return new Map([[row.name, row.texts.join("\n")]]);
}
