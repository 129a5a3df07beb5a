import { drain } from "../drain.ts";
import { changeTables, type SnapshotDelta } from "../entry-changes.ts";
import type { ClusterSnapshot } from "../schema.ts";
import { emptySnapshot, type HeldState, NOTHING_HELD } from "./held-state.ts";
import { LinesReader } from "./lines-reader.ts";
import { type LinesKind, LinesStage } from "./lines-stage.ts";
import type { LineLimits, PatchLine } from "./patch-line.ts";

/**
 * Applies changes to a state: what they change, validated.
 * @throws {SnapshotError} naming line and field of each error; the first change is line 2
 */
export function applyLines(held: HeldState, changes: Iterable<PatchLine>, kind: LinesKind): SnapshotDelta {
  const stage = new LinesStage(kind, held);
  let number = 1;
  for (const change of changes)
    drain(stage.apply({ number: ++number, change, values: 0, hasPrototypeKey: false }));
  return drain(stage.finish());
}

/**
 * Reads a whole state from bytes in pieces, in one turn.
 * @throws {LinesError} @throws {SnapshotError}
 */
export function readSnapshotLines(pieces: Iterable<Uint8Array>, limits?: LineLimits): ClusterSnapshot {
  const reader = new LinesReader(limits);
  const stage = new LinesStage("whole", NOTHING_HELD);
  for (const piece of pieces) for (const line of reader.feed(piece)) drain(stage.apply(line));
  const { clusterId } = reader.finish();
  return changeTables(emptySnapshot(clusterId), drain(stage.finish()));
}
