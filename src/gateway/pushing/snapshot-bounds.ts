import type { EntryChange, HeldDelta, SnapshotDelta } from "../../snapshot/entry-changes.ts";
import { memberNames } from "../../snapshot/held/member-names.ts";
import { charactersOf, type Packed, unpack } from "../../snapshot/held/packed-entry.ts";
import type { HeldState } from "../../snapshot/lines/held-state.ts";
import { COLLECTIONS } from "../../snapshot/parse.ts";
import type { EndpointGroups } from "../../snapshot/schema.ts";

/** Bounds on what one cluster's snapshot has, by the keys of the settings under `limits`. */
export interface SnapshotBounds {
  readonly namespaces: number;
  readonly exports: number;
  readonly imports: number;
  /** Services of the cluster's own zone. */
  readonly services: number;
  /** Pods with names in the cluster's own zone. */
  readonly pods: number;
  /** Endpoints of exports, imports and services together. */
  readonly endpoints: number;
  /** Ports of services, and of each endpoint, together: SRV records go by them. */
  readonly ports: number;
  readonly findings: number;
  /** Characters of exported labels and annotations together, keys and values. */
  readonly metadataCharacters: number;
}

/**
 * Room for the largest cluster that Kubernetes supports (Considerations for large clusters; scalability thresholds): 150,000 pods,
 * 10,000 Services and 10,000 namespaces, with each Service exported, in the cluster's own zone, and with a finding; and a fifth more.
 */
export const DEFAULT_SNAPSHOT_BOUNDS: SnapshotBounds = {
  // A generation has room for 65,535 of all clusters.
  namespaces: 10_000,
  exports: 12_000,
  imports: 12_000,
  services: 12_000,
  pods: 180_000,
  endpoints: 360_000,
  ports: 800_000,
  findings: 12_000,
  metadataCharacters: 4 * 1024 * 1024,
};

/** How much a snapshot has of everything that is bounded. */
export interface SnapshotTotals extends SnapshotBounds {
  /** Characters of its entries as JSON, each with its key, a colon and a comma. */
  readonly characters: number;
}

type Sums = { -readonly [Name in keyof SnapshotTotals]: number };

/** Of a snapshot without entries. */
export const NO_TOTALS: SnapshotTotals = {
  namespaces: 0,
  exports: 0,
  imports: 0,
  services: 0,
  pods: 0,
  endpoints: 0,
  ports: 0,
  findings: 0,
  metadataCharacters: 0,
  characters: 0,
};

/** Entries of one step: each may be parsed or packed within a tenth of a millisecond. */
const ENTRIES_AT_ONCE = 16;

/** The totals of a state, counted entry by entry, in steps of some entries. */
export function* measureInSteps(held: HeldState): Generator<void, SnapshotTotals> {
  const sums = { ...NO_TOTALS };
  let count = 0;
  for (const collection of COLLECTIONS)
    for (const key of held.keys(collection)) {
      const packed = held.packed(collection, key)!;
      countEntry(sums, { collection, key, entry: unpack(packed) } as EntryChange, packed, 1);
      if (++count % ENTRIES_AT_ONCE === 0 || isLong(packed)) yield;
    }
  return sums;
}

/**
 * The totals after a change of `held`, which has `totals`. Only entries that change are counted, in steps of some entries.
 * @param packed the same change as it will be held
 */
export function* totalsAfter(
  totals: SnapshotTotals,
  held: HeldState,
  { entries }: SnapshotDelta,
  packed: HeldDelta,
): Generator<void, SnapshotTotals> {
  const sums = { ...totals };
  for (const [index, change] of entries.entries()) {
    const { collection, key } = change;
    const before = held.packed(collection, key);
    const after = packed.entries[index]!.entry;
    if (before !== undefined)
      countEntry(sums, { collection, key, entry: unpack(before) } as EntryChange, before, -1);
    if (isLong(before)) yield;
    if (after !== undefined) countEntry(sums, change, after, 1);
    if (isLong(after) || index % ENTRIES_AT_ONCE === ENTRIES_AT_ONCE - 1) yield;
  }
  return sums;
}

/** Whether counting an entry may take a turn: to list 100,000 endpoints takes 20 ms. */
function isLong(packed: Packed | undefined): boolean {
  return typeof packed === "object";
}

/** Adds an entry to the totals, or takes it away. */
function countEntry(sums: Sums, { collection, key, entry }: EntryChange, packed: Packed, sign: 1 | -1): void {
  if (entry === undefined) return;
  sums[collection] += sign;
  sums.characters += sign * (JSON.stringify(key).length + charactersOf(packed) + 2);
  switch (collection) {
    case "exports":
      countService(sums, entry.ports.length + (entry.nodes?.ports.length ?? 0), [entry.endpoints], sign);
      sums.metadataCharacters +=
        sign * (characters(entry.exportedLabels) + characters(entry.exportedAnnotations));
      break;
    case "imports":
      countService(sums, entry.ports.length, Object.values(entry.endpoints), sign);
      break;
    case "services":
      countService(sums, entry.ports.length, [entry.endpoints], sign);
  }
}

function countService(sums: Sums, ports: number, sources: readonly EndpointGroups[], sign: 1 | -1): void {
  sums.ports += sign * ports;
  for (const groups of sources)
    for (const group of Object.values(groups)) {
      const members = memberNames(group.members).length;
      sums.endpoints += sign * members;
      sums.ports += sign * members * group.ports.length;
    }
}

function characters(texts: Readonly<Record<string, string>> = {}): number {
  return Object.entries(texts).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}
