import type { HeldDelta } from "../../snapshot/entry-changes.ts";

/** Entries of changes that are small: they are compiled within a few turns. */
export const SMALL_CHANGE = 64;

/** The entries that a change touches. A namespace touches all services in it, and what is single all views. */
export function entriesOf({ entries, singles }: HeldDelta): number {
  const isWide =
    entries.length <= SMALL_CHANGE && entries.some(({ collection }) => collection === "namespaces");
  return isWide || Object.keys(singles).length > 0 ? Number.POSITIVE_INFINITY : entries.length;
}
