import type { Clock } from "../../gateway/clock.ts";
import { resumed } from "../../gateway/leases/stored-lease.ts";
import {
  EVERYTHING,
  type Visibility,
  visibilityKey,
  withoutView,
} from "../../merge/visibility/visibility.ts";
import type { ClusterMeta } from "../../store/cluster-meta.ts";
import { NoteTable } from "../../store/rows/note-table.ts";
import { PartTable } from "../../store/rows/part-table.ts";
import type { SqlDatabase } from "../../store/rows/sql-database.ts";
import type { ScopeState } from "../primary.ts";
import { resumedScope } from "./resumed-scope.ts";
import { StartingGateway } from "./starting-gateway.ts";
import { StoredGenerations } from "./stored-generations.ts";
import { type OnPartDamage, StoredParts } from "./stored-parts.ts";

/** What stored generations are resumed with. */
export interface ResumeOptions {
  /** A text of everything beside pushes that generations depend on. */
  readonly settings: string;
  readonly scopes: readonly Visibility[];
  /** The stored clusters, by id, as they are now: leases are renewed while a gateway starts. */
  readonly metas: () => ReadonlyMap<string, ClusterMeta>;
  /** After how many milliseconds a change that is not in the answers makes them stale. */
  readonly mostBehind: number;
  readonly clock: Clock;
  readonly onDamage: OnPartDamage;
}

/** The stored generations of a gateway that starts, and what it serves of them until it has compiled its own. */
export function resume(
  database: SqlDatabase,
  { settings, scopes, metas, mostBehind, clock, onDamage }: ResumeOptions,
): { readonly generations: StoredGenerations; readonly starting: StartingGateway } {
  const now = () => clock.now();
  const table = new PartTable(database);
  const parts = new StoredParts(table, onDamage);
  const generations = new StoredGenerations({
    ...{ table, parts, settings, clock: now },
    noteTable: new NoteTable(database),
  });
  const going = () => new Map(Array.from(metas(), ([id, meta]) => [id, resumed(meta, clock)]));
  const served = new Map<string, ScopeState>();
  const all = [EVERYTHING, ...scopes];
  for (const scope of all) {
    // One generation serves all scopes that differ in their view only.
    const key = visibilityKey(withoutView(scope));
    const stored = generations.load(key);
    if (stored === undefined) continue;
    const state = resumedScope(stored, { metas: going, mostBehind, isEverything: key === "", now });
    if (state.current(now()) !== undefined) served.set(visibilityKey(scope), state);
  }
  return { generations, starting: new StartingGateway(all.map(visibilityKey), served) };
}
