import * as z from "zod";
import { isJsonObject } from "../../snapshot/json-value.ts";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import { ClusterMeta } from "../cluster-meta.ts";
import type { LogDraft, LogEntry, Sight } from "../shared/shared-log.ts";
import { Founding, type Mark } from "./log-head.ts";

/**
 * Characters of lines and ranks in one entry. Every gateway reads each entry, some dozens at once, and the log keeps thousands; of a larger change the values
 * themselves are read.
 */
const MOST_CHARACTERS = 262_144;

const StoredSight = z.strictObject({
  seenAt: z.number(),
  generation: z.number(),
  exports: z.record(z.string(), z.tuple([z.string(), z.number()]).nullable()),
  imports: z.record(z.string(), z.number().nullable()),
  isWhole: z.literal(true).optional(),
});
const Line = z.custom<PatchLine>((line) => {
  if (!Array.isArray(line) || (line.length !== 2 && line.length !== 3)) return false;
  const patch = line.at(-1);
  return (
    line.slice(0, -1).every((part) => typeof part === "string") && (patch === null || isJsonObject(patch))
  );
});
const Stored = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.enum(["snapshot", "patch", "lease", "left", "expired"]),
    clusterId: z.string(),
    version: z.string().optional(),
    generation: z.int().nonnegative().optional(),
    meta: ClusterMeta.optional(),
    lines: z.array(Line).optional(),
    sight: StoredSight.optional(),
    founding: Founding.optional(),
  }),
  z.strictObject({
    kind: z.literal("orders"),
    orders: z.record(z.string(), z.array(z.string()).nullable()),
  }),
]);

/** An entry as the stream has it. */
export interface StreamEntry extends Mark {
  /** The id of the entry before it. */
  readonly before: string;
  readonly text: string;
}

/** An entry, and where the values of its cluster are. */
export interface ReadEntry {
  readonly entry: LogEntry;
  readonly version: string | undefined;
}

/** The text of an entry. @param lines as JSON; undefined for a change whose values are to be read */
export function entryText(
  { clusterId, change, sight, founding }: LogDraft,
  version: string | undefined,
  lines: readonly string[] | undefined,
): string {
  const ranks = sight === undefined ? undefined : JSON.stringify(sight);
  let characters = ranks?.length ?? 0;
  for (const line of lines ?? []) characters += line.length + 1;
  const generation = change.kind === "left" ? change.generation : undefined;
  const parts = [
    JSON.stringify({ kind: change.kind, clusterId, version, generation, founding }).slice(1, -1),
  ];
  if ("meta" in change) parts.push(`"meta":${JSON.stringify(change.meta)}`);
  if (ranks !== undefined && ranks.length <= MOST_CHARACTERS) parts.push(`"sight":${ranks}`);
  if (lines !== undefined && characters <= MOST_CHARACTERS) parts.push(`"lines":[${lines.join(",")}]`);
  return `{${parts.join(",")}}`;
}

/** @throws {Error} for a damaged one */
export function readEntry({ position, id, text }: StreamEntry): ReadEntry {
  const stored = Stored.parse(JSON.parse(text));
  if (stored.kind === "orders")
    return { entry: { kind: "orders", position, orders: stored.orders }, version: undefined };
  const { version, ...entry } = stored;
  if (entry.meta === undefined && entry.kind !== "left" && entry.kind !== "expired")
    throw new Error("it has no meta");
  return { entry: { ...entry, sight: entry.sight as Sight | undefined, position, id }, version };
}

/** An entry of a stream, as the client has it. */
export function streamEntry({
  id,
  message,
}: {
  readonly id: string;
  readonly message: unknown;
}): StreamEntry {
  const fields = message as Readonly<Record<string, string | undefined>>;
  const { id: own = "", before = "", entry = "" } = fields;
  return { position: Number.parseInt(id, 10), id: own, before, text: entry };
}
