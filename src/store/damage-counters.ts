import type { StoreWarning } from "./store-error.ts";

/** The part of a store that each warning speaks of; undefined where nothing is damaged. */
const PARTS = {
  CORRUPT_SNAPSHOT: "snapshot",
  CORRUPT_JOURNAL: "journal",
  UNREADABLE_CLUSTER: "cluster",
  LEFTOVER: undefined,
  NOT_COMPACTED: undefined,
} as const satisfies Readonly<Record<StoreWarning["code"], string | undefined>>;

/** A copy of a record of who was there first, and such a record of which no copy is left. */
const MEMORY_PARTS = ["memory", "memory-lost"] as const;

/** A part of a store that can be damaged. */
export type StorePart = NonNullable<(typeof PARTS)[keyof typeof PARTS]> | (typeof MEMORY_PARTS)[number];

/** Counts the damaged records that a store went on without, by part. */
export class DamageCounters {
  readonly #counts = new Map<StorePart, number>(
    [...Object.values(PARTS), ...MEMORY_PARTS].flatMap((part) => (part === undefined ? [] : [[part, 0]])),
  );

  count({ code }: Pick<StoreWarning, "code">): void {
    const part = PARTS[code];
    if (part !== undefined) this.countPart(part);
  }

  countPart(part: StorePart): void {
    this.#counts.set(part, this.#counts.get(part)! + 1);
  }

  /** Every part, those without damage too. */
  counts(): ReadonlyMap<StorePart, number> {
    return this.#counts;
  }
}
