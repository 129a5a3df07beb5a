import type { EntryChange, SnapshotDelta } from "../../snapshot/entry-changes.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import type { Seen } from "./seen-cluster.ts";

/** The parts of what is held of a cluster that decide what it serves. */
export type ServedTables = Pick<ClusterSnapshot, "clusterId" | "exports" | "imports" | "namespaces">;

/** An export or an import that may be served anew, or no more. */
export interface JudgedKey {
  readonly table: "exports" | "imports";
  readonly key: string;
  /** Whether the cluster has it, in a namespace that it has. */
  readonly isServed: boolean;
}

const TABLES = ["exports", "imports"] as const;
const JUDGED: ReadonlySet<string> = new Set([...TABLES, "namespaces"]);

/** Whether a change decides what is served. */
export function isJudged({ collection }: EntryChange): boolean {
  return JUDGED.has(collection);
}

/**
 * The exports and imports that a change may have made served, or not served. A namespace that comes or goes concerns all that is in it.
 * @param change default: everything may have changed
 */
export function* keysToJudge(held: ServedTables, seen: Seen, change?: SnapshotDelta): Generator<JudgedKey> {
  const isServed = (table: JudgedKey["table"], key: string) =>
    Object.hasOwn(held[table], key) && Object.hasOwn(held.namespaces, key.slice(0, key.indexOf("/")));
  const namespaces = new Set<string>();
  for (const { collection, key } of change?.entries ?? [])
    if (collection === "namespaces") namespaces.add(key);
    else if (collection === "exports" || collection === "imports")
      yield { table: collection, key, isServed: isServed(collection, key) };
  if (change !== undefined && namespaces.size === 0) return;
  for (const table of TABLES) {
    const keys = new Set(Object.keys(held[table]));
    for (const key of seen[table].keys()) keys.add(key);
    for (const key of keys)
      if (change === undefined || namespaces.has(key.slice(0, key.indexOf("/"))))
        yield { table, key, isServed: isServed(table, key) };
  }
}
