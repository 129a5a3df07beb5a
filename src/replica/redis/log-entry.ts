import type { RowChange } from "../../database/row-change.ts";
import type { LogEntry } from "../shared-log.ts";
import { readRows } from "./row-text.ts";

/** An entry of a stream, as the client has it. */
export interface StreamMessage {
  readonly id: string;
  readonly message: unknown;
}

/** What an entry has beside rows. */
type Members = Pick<RowChange, "kind" | "cluster" | "isCleared" | "keys" | "isWide" | "founding">;

/** The text of an entry beside its rows. */
export function membersText({ kind, cluster, isCleared, keys, isWide, founding }: RowChange): string {
  const members: Members = { kind, cluster, isCleared, keys, isWide, founding };
  return JSON.stringify(members);
}

/**
 * Reads an entry: the fields `id`, `before`, `change`, and those of rows; or `staged` with the number of values in a list, the text of `change` first and then fields and values of rows in turns.
 * @param readStaged reads such a list
 */
export async function readEntry(
  { id: streamId, message }: StreamMessage,
  readStaged: (id: string, count: number) => Promise<string[]>,
): Promise<LogEntry> {
  const { id = "", before = "", change, staged, ...fields } = message as Record<string, string | undefined>;
  const mark = { position: Number.parseInt(streamId, 10), id, before };
  const values = staged === undefined ? undefined : await readStaged(id, Number(staged));
  if (values !== undefined && values.length !== Number(staged)) return { ...mark, change: undefined };
  const rows = values === undefined ? Object.entries(fields as Record<string, string>) : pairs(values);
  try {
    const members = JSON.parse((values === undefined ? change : values[0]) ?? "") as Members;
    return { ...mark, change: { ...members, ...readRows(members.cluster.id, rows) } };
  } catch {
    return { ...mark, change: undefined };
  }
}

function* pairs(values: readonly string[]): Generator<readonly [string, string]> {
  for (let at = 1; at + 1 < values.length; at += 2) yield [values[at]!, values[at + 1]!];
}
