import * as z from "zod";
import type { Sight } from "../shared/shared-log.ts";
import type { RedisConnection } from "./connection.ts";
import type { LogKeys } from "./keys.ts";

/** The field of a cluster's own time and generation. */
const SELF = "@";
/** About so many ranks are read together. */
const RANKS_AT_ONCE = 1000;

const Self = z.strictObject({ seenAt: z.number(), generation: z.number() });
const Reported = z.tuple([z.string(), z.number()]);

/** What changes in the hash of ranks. */
export function sightValues(sight: Sight | undefined): { set: string[]; removed: string[] } {
  const set: string[] = [];
  const removed: string[] = [];
  if (sight === undefined) return { set, removed };
  const { seenAt, generation } = sight;
  set.push(SELF, JSON.stringify({ seenAt, generation }));
  for (const kind of ["exports", "imports"] as const)
    for (const [key, rank] of Object.entries(sight[kind]))
      if (rank === null) removed.push(`${kind}/${key}`);
      else set.push(`${kind}/${key}`, JSON.stringify(rank));
  return { set, removed };
}

/** Reads all ranks of a cluster; undefined if nothing is known. Damaged ones are as unknown as those never seen. @throws {StoreError} */
export async function readSight(
  connection: RedisConnection,
  keys: LogKeys,
  clusterId: string,
): Promise<Sight | undefined> {
  const exports = new Map<string, readonly [string, number]>();
  const imports = new Map<string, number>();
  let self: z.infer<typeof Self> | undefined;
  let cursor = "0";
  do {
    const found = await connection.run((client) =>
      client.hScan(keys.sights(clusterId), cursor, { COUNT: RANKS_AT_ONCE }),
    );
    cursor = found.cursor;
    for (const { field, value } of found.entries) {
      const rank = parsed(value);
      if (field === SELF) self = Self.safeParse(rank).data;
      else if (field.startsWith("exports/")) {
        const reported = Reported.safeParse(rank).data;
        if (reported !== undefined) exports.set(field.slice("exports/".length), reported);
      } else if (typeof rank === "number") imports.set(field.slice("imports/".length), rank);
    }
  } while (cursor !== "0");
  if (self === undefined) return undefined;
  return { ...self, exports: Object.fromEntries(exports), imports: Object.fromEntries(imports) };
}

/** Ranks after a change. */
export function sightAfter(before: Sight | undefined, change: Sight | undefined): Sight | undefined {
  if (change === undefined) return before;
  return {
    ...change,
    exports: changed(before?.exports, change.exports),
    imports: changed(before?.imports, change.imports),
  };
}

function changed<Rank>(
  before: Readonly<Record<string, Rank>> | undefined,
  change: Readonly<Record<string, Rank>>,
): Record<string, Rank> {
  const ranks = new Map(Object.entries(before ?? {}));
  for (const [key, rank] of Object.entries(change))
    if (rank === null) ranks.delete(key);
    else ranks.set(key, rank);
  return Object.fromEntries(ranks);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
