import type { HeldDelta } from "../../snapshot/entry-changes.ts";
import { type Packed, unpack } from "../../snapshot/held/packed-entry.ts";
import type { HeldState } from "../../snapshot/lines/held-state.ts";
import type { Collection, EntryOf } from "../../snapshot/parse.ts";

/** The entries of a state as a change is going to make them. Neither may change while they are read. */
export function changedState(held: HeldState, { entries }: HeldDelta): HeldState {
  const changed = new Map<string, Packed | undefined>();
  const keysOf = new Map<Collection, string[]>();
  for (const { collection, key, entry } of entries) {
    changed.set(`${collection}/${key}`, entry);
    const keys = keysOf.get(collection) ?? [];
    keysOf.set(collection, keys);
    keys.push(key);
  }
  const packed = <Name extends Collection>(collection: Name, key: string) => {
    const path = `${collection}/${key}`;
    return changed.has(path)
      ? (changed.get(path) as Packed<EntryOf<Name>> | undefined)
      : held.packed(collection, key);
  };
  return {
    packed,
    entry(collection, key) {
      const entry = packed(collection, key);
      return entry === undefined ? undefined : unpack(entry);
    },
    has: (collection, key) => packed(collection, key) !== undefined,
    *keys(collection) {
      for (const key of held.keys(collection)) if (!changed.has(`${collection}/${key}`)) yield key;
      for (const key of keysOf.get(collection) ?? []) if (packed(collection, key) !== undefined) yield key;
    },
    single: (name) => held.single(name),
  };
}
