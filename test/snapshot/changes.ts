import { drain } from "../../src/snapshot/drain.ts";
import type { EntryChange, SnapshotDelta } from "../../src/snapshot/entry-changes.ts";
import { pack, unpack } from "../../src/snapshot/held/packed-entry.ts";
import { equalJson, isJsonObject, ownMember } from "../../src/snapshot/json-value.ts";
import { encodeChanges } from "../../src/snapshot/lines/encode.ts";
import {
  emptySnapshot,
  type HeldState,
  heldSnapshot,
  NOTHING_HELD,
} from "../../src/snapshot/lines/held-state.ts";
import { LinesReader, type ReadLine } from "../../src/snapshot/lines/lines-reader.ts";
import { type LinesKind, LinesStage } from "../../src/snapshot/lines/lines-stage.ts";
import type {
  EntryPatch,
  LineLimits,
  PatchLine,
  SnapshotPatch,
} from "../../src/snapshot/lines/patch-line.ts";
import { COLLECTIONS, type Entries, SINGLES } from "../../src/snapshot/parse.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { linesOfEntry } from "../../src/store/lines.ts";

/** The lines of a snapshot, or of a patch on one, as a store keeps them. */
export function* linesOf(patch: SnapshotPatch | ClusterSnapshot): Generator<PatchLine> {
  for (const name of SINGLES) {
    const value = ownMember(patch, name);
    if (value !== undefined) yield [name, value as EntryPatch];
  }
  for (const collection of COLLECTIONS) {
    const table = ownMember(patch, collection);
    if (!isJsonObject(table)) continue;
    for (const key of Object.keys(table)) yield* linesOfEntry([collection, key], table[key] as EntryPatch);
  }
}

/**
 * What lines change in a state.
 * @throws {SnapshotError} naming line and field of each error; the first change is line 2
 */
export function applyLines(held: HeldState, changes: Iterable<PatchLine>, kind: LinesKind): SnapshotDelta {
  return drain(stageLines(kind, held, readLines(changes)).finish());
}

/** Changes as a reader yields them; the first one is line 2. */
export function* readLines(changes: Iterable<PatchLine>): Generator<ReadLine> {
  let number = 1;
  for (const change of changes)
    yield { number: ++number, change, text: JSON.stringify(change), values: 0, hasPrototypeKey: false };
}

/** A stage that has taken lines. @throws {SnapshotError} once a thousand errors were found */
export function stageLines(kind: LinesKind, held: HeldState, lines: Iterable<ReadLine>): LinesStage {
  const stage = new LinesStage(kind, held);
  for (const line of lines) drain(stage.apply(line));
  return stage;
}

/**
 * The snapshot after the lines of a patch, as a push has them.
 * @throws {SnapshotError} naming each wrong field
 */
export function applyPatch(base: ClusterSnapshot, patch: SnapshotPatch): ClusterSnapshot {
  const reader = new LinesReader();
  const lines = [...encodeChanges(base.clusterId, patch)].flatMap((piece) => [...reader.feed(piece)]);
  reader.finish();
  return changeTables(base, drain(stageLines("changes", heldSnapshot(base), lines).finish()));
}

/**
 * The snapshot that the pieces of a push have.
 * @throws {LinesError} @throws {SnapshotError}
 */
export function readSnapshotLines(pieces: Iterable<Uint8Array>, limits?: LineLimits): ClusterSnapshot {
  const reader = new LinesReader(limits);
  const staged = new LinesStage("whole", NOTHING_HELD);
  for (const piece of pieces) for (const line of reader.feed(piece)) drain(staged.apply(line));
  const { clusterId } = reader.finish();
  return changeTables(emptySnapshot(clusterId), drain(staged.finish()));
}

/** The snapshot after a change; tables that do not change are the same objects. */
export function changeTables(
  snapshot: ClusterSnapshot,
  { entries, singles }: SnapshotDelta,
): ClusterSnapshot {
  const changed = { ...snapshot };
  for (const { collection } of entries)
    if (changed[collection] === snapshot[collection])
      Object.assign(changed, { [collection]: { ...snapshot[collection] } });
  for (const { collection, key, entry } of entries) {
    const table: Entries = changed[collection];
    if (entry === undefined) delete table[key];
    else table[key] = entry;
  }
  for (const name of SINGLES) {
    if (!Object.hasOwn(singles, name)) continue;
    if (singles[name] === undefined) delete changed[name];
    else Object.assign(changed, { [name]: singles[name] });
  }
  return changed;
}

/** What turns a state into a snapshot. */
export function changesBetween(from: HeldState, to: ClusterSnapshot): SnapshotDelta {
  const entries: EntryChange[] = [];
  for (const collection of COLLECTIONS) {
    const after: Entries = to[collection];
    for (const key of from.keys(collection))
      if (!Object.hasOwn(after, key)) entries.push({ collection, key, entry: undefined });
    for (const key of Object.keys(after)) {
      const packed = from.packed(collection, key);
      const entry = after[key] as object;
      const isHeld = packed !== undefined && (packed === pack(entry) || equalJson(unpack(packed), entry));
      if (!isHeld) entries.push({ collection, key, entry } as EntryChange);
    }
  }
  const changed = SINGLES.filter((name) => !equalJson(from.single(name), to[name]));
  return { entries, singles: Object.fromEntries(changed.map((name) => [name, to[name]])) };
}
