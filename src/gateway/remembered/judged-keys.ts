import type { HeldChange, HeldDelta } from "../../snapshot/entry-changes.ts";
import type { HeldState } from "../../snapshot/lines/held-state.ts";
import type { Seen } from "./seen-cluster.ts";

/** What is held of a cluster: its exports, imports and namespaces decide what it serves. */
export interface ServedCluster {
  readonly clusterId: string;
  readonly state: HeldState;
}

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
export function isJudged({ collection }: HeldChange): boolean {
  return JUDGED.has(collection);
}

/**
 * The exports and imports that a change may have made served, or not served. A namespace that comes or goes concerns all that is in it.
 * @param change default: everything may have changed
 */
export function* keysToJudge(held: HeldState, seen: Seen, change?: HeldDelta): Generator<JudgedKey> {
  const isServed = (table: JudgedKey["table"], key: string) =>
    held.has("namespaces", key.slice(0, key.indexOf("/"))) &&
    (table === "exports" ? held.has(table, key) : isPartOfService(held, key));
  const namespaces = new Set<string>();
  for (const { collection, key } of change?.entries ?? [])
    if (collection === "namespaces") namespaces.add(key);
    else if (collection === "exports" || collection === "imports")
      yield { table: collection, key, isServed: isServed(collection, key) };
  if (change !== undefined && namespaces.size === 0) return;
  for (const table of TABLES) {
    const keys = new Set(held.keys(table));
    for (const key of seen[table].keys()) keys.add(key);
    for (const key of keys)
      if (change === undefined || namespaces.has(key.slice(0, key.indexOf("/"))))
        yield { table, key, isServed: isServed(table, key) };
  }
}

/** Whether a cluster has an import that is a part in the service. One that its worker made from the desired state keeps no place in any order. */
export function isPartOfService(held: HeldState, key: string): boolean {
  const imported = held.entry("imports", key);
  return imported !== undefined && imported.managed !== true;
}
