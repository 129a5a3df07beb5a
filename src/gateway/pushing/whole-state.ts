import type { SnapshotDelta } from "../../snapshot/entry-changes.ts";
import type { LinesStage } from "../../snapshot/lines/lines-stage.ts";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import { linesOfEntry } from "../../store/lines.ts";
import type { HeldCluster } from "../leases/held-cluster.ts";

/** All that a cluster has, as it was pushed. */
export interface WholeState {
  /**
   * What it changes in what is held, in steps.
   * @throws {SnapshotError} naming each field that is wrong
   */
  changes(held: HeldCluster): Generator<void, SnapshotDelta>;
  /** It as lines, for a store to keep. */
  lines(): Iterable<PatchLine>;
}

/** The lines of a push. No snapshot is made of them. */
export function wholeStage(stage: LinesStage): WholeState {
  return {
    changes: (held) => stage.finish(held.state),
    lines: function* () {
      for (const { path, value } of stage.values()) yield* linesOfEntry(path, value);
    },
  };
}
