import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import { mergeInPlace } from "../snapshot-draft.ts";
import type { RedisConnection } from "./connection.ts";
import { fieldOf, MARK } from "./fields.ts";
import type { LogKeys } from "./keys.ts";
import { VALUES_AT } from "./log-scripts.ts";

/** About so many characters of entries are sent together. */
const MOST_CHARACTERS = 131_072;
/**
 * Seconds after which the engine removes entries of a whole state that did not come to count: those of a gateway that died. Each part that is written
 * begins them anew.
 */
const STAGED_FOR = 600;

/** Values of a hash that change. */
export interface ChangedValues {
  /** Fields and texts in turns. */
  readonly set: readonly string[];
  readonly removed: readonly string[];
  /** The lines, as JSON. */
  readonly lines: readonly string[];
}

/** Writes the entries of a whole state where they do not count yet. Lines of one entry come one after the other. @throws {StoreError} */
export async function stageEntries(
  connection: RedisConnection,
  key: string,
  lines: Iterable<PatchLine>,
): Promise<void> {
  let values: Record<string, string> = { [MARK]: "" };
  let characters = 0;
  let open: { readonly field: string; value: unknown } | undefined;
  const put = ({ field, value }: { readonly field: string; readonly value: unknown }) => {
    const text = JSON.stringify(value);
    values[field] = text;
    characters += field.length + text.length;
  };
  const send = async () => {
    const sent = values;
    values = {};
    characters = 0;
    if (Object.keys(sent).length > 0)
      await connection.run((client) => Promise.all([client.hSet(key, sent), client.expire(key, STAGED_FOR)]));
  };
  for (const line of lines) {
    const field = fieldOf(line);
    if (open?.field !== field) {
      if (open !== undefined) put(open);
      if (characters >= MOST_CHARACTERS) await send();
      open = { field, value: undefined };
    }
    open.value = mergeInPlace(open.value, line.at(-1));
  }
  if (open !== undefined) put(open);
  await send();
}

/**
 * The values that change with a patch, as they become.
 * @param base the id of the entry that the patch builds on
 * @returns undefined where the entries are not there, or not those at that entry
 * @throws {SyntaxError} for a damaged value
 * @throws {StoreError}
 */
export async function patchedValues(
  connection: RedisConnection,
  keys: LogKeys,
  {
    clusterId,
    version,
    base,
  }: { readonly clusterId: string; readonly version: string; readonly base: string },
  lines: Iterable<PatchLine>,
): Promise<ChangedValues | undefined> {
  const patches = new Map<string, unknown[]>();
  const texts: string[] = [];
  for (const line of lines) {
    texts.push(JSON.stringify(line));
    const field = fieldOf(line);
    const known = patches.get(field);
    if (known === undefined) patches.set(field, [line.at(-1)]);
    else known.push(line.at(-1));
  }
  const fields = [...patches.keys()];
  const reply = await connection.script(
    VALUES_AT,
    [keys.clusters, keys.entries(clusterId, version)],
    [clusterId, base, MARK, ...fields],
  );
  const [mark, ...values] = (reply ?? []) as (string | null)[];
  if (mark == null) return undefined;
  const set: string[] = [];
  const removed: string[] = [];
  for (const [index, field] of fields.entries()) {
    const text = values[index];
    let value: unknown = text == null ? null : JSON.parse(text);
    for (const patch of patches.get(field)!) value = patch === null ? null : mergeInPlace(value, patch);
    if (value === null) removed.push(field);
    else set.push(field, JSON.stringify(value));
  }
  return { set, removed, lines: texts };
}
