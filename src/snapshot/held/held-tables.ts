import type { HeldDelta } from "../entry-changes.ts";
import type { HeldState } from "../lines/held-state.ts";
import type { Single } from "../lines/patch-line.ts";
import { COLLECTIONS, type Collection, type EntryOf, SINGLES } from "../parse.ts";
import type { ClusterSnapshot } from "../schema.ts";
import { type Packed, pack, unpack } from "./packed-entry.ts";

/** The state of a cluster that follows its changes. */
export interface FollowingState extends HeldState {
  /** Takes over a change, in steps. A state that is stored has it as soon as the store does. */
  apply(change: HeldDelta): Generator<void>;
}

/** Entries of one step. */
const ENTRIES_AT_ONCE = 64;

/** The state of a cluster in memory, changed in place: tables of packed entries. */
export class HeldTables implements FollowingState {
  readonly #tables = new Map(
    COLLECTIONS.map((collection): [Collection, Map<string, Packed>] => [collection, new Map()]),
  );
  readonly #singles: Partial<Record<Single, ClusterSnapshot[Single]>> = {};

  /** A state with the entries of a snapshot. */
  static of(snapshot: ClusterSnapshot): HeldTables {
    const held = new HeldTables();
    for (const collection of COLLECTIONS) {
      const table = held.#tables.get(collection)!;
      for (const [key, entry] of Object.entries(snapshot[collection])) table.set(key, pack(entry));
    }
    for (const name of SINGLES) held.#singles[name] = snapshot[name];
    return held;
  }

  entry<Name extends Collection>(collection: Name, key: string): EntryOf<Name> | undefined {
    const packed = this.packed(collection, key);
    return packed === undefined ? undefined : unpack(packed);
  }

  packed<Name extends Collection>(collection: Name, key: string): Packed<EntryOf<Name>> | undefined {
    return this.#tables.get(collection)!.get(key) as Packed<EntryOf<Name>> | undefined;
  }

  has(collection: Collection, key: string): boolean {
    return this.#tables.get(collection)!.has(key);
  }

  count(collection: Collection): number {
    return this.#tables.get(collection)!.size;
  }

  keys(collection: Collection): Iterable<string> {
    return this.#tables.get(collection)!.keys();
  }

  single<Name extends Single>(name: Name): ClusterSnapshot[Name] {
    return this.#singles[name] as ClusterSnapshot[Name];
  }

  /** Takes over a change, in steps of some entries. */
  *apply({ entries, singles }: HeldDelta): Generator<void> {
    for (const [index, { collection, key, entry }] of entries.entries()) {
      const table = this.#tables.get(collection)!;
      if (entry === undefined) table.delete(key);
      else table.set(key, entry);
      if (index % ENTRIES_AT_ONCE === ENTRIES_AT_ONCE - 1) yield;
    }
    Object.assign(this.#singles, singles);
  }
}
