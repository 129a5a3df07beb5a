import { type Packed, packInSteps } from "./held/packed-entry.ts";
import { sharedText } from "./held/shared-text.ts";
import type { Collection, EntryOf } from "./parse.ts";
import type { ClusterSnapshot } from "./schema.ts";

/** An entry of a table as it becomes; `entry` is undefined where it is removed. */
export type EntryChange = {
  [Name in Collection]: {
    readonly collection: Name;
    readonly key: string;
    readonly entry: EntryOf<Name> | undefined;
  };
}[Collection];

/** A valid change of one snapshot: no entry twice, and none that stays as it is. */
export interface SnapshotDelta {
  readonly entries: readonly EntryChange[];
  /** The members that are one value and change; undefined for one that is removed. */
  readonly singles: {
    readonly topology?: ClusterSnapshot["topology"] | undefined;
    readonly clusterZone?: ClusterSnapshot["clusterZone"] | undefined;
  };
}

/** A change whose entries are as they are held. */
export interface HeldDelta extends Pick<SnapshotDelta, "singles"> {
  readonly entries: readonly HeldChange[];
}

/** An entry as it becomes in a `HeldDelta`. */
export type HeldChange = {
  [Name in Collection]: {
    readonly collection: Name;
    readonly key: string;
    readonly entry: Packed<EntryOf<Name>> | undefined;
  };
}[Collection];

/** Entries of one step: each may be parsed or packed within a tenth of a millisecond. */
const ENTRIES_AT_ONCE = 16;

/** A change as it is held, packed in steps of some entries. */
export function* packDelta({ entries, singles }: SnapshotDelta): Generator<void, HeldDelta> {
  const packed: HeldChange[] = [];
  for (const [index, { collection, key, entry }] of entries.entries()) {
    const held = entry && (yield* packInSteps(entry));
    packed.push({ collection, key: sharedText(key), entry: held } as HeldChange);
    if (index % ENTRIES_AT_ONCE === ENTRIES_AT_ONCE - 1) yield;
  }
  return { entries: packed, singles };
}
