import type { Gateway } from "../../src/gateway/gateway.ts";
import type { Acknowledgement, Sender } from "../../src/gateway/gateway-types.ts";
import type { RequestedTerms } from "../../src/gateway/leases/lease-terms.ts";
import { wholeStage } from "../../src/gateway/pushing/whole-state.ts";
import type { ServedGeneration } from "../../src/gateway/stages.ts";
import { drain } from "../../src/snapshot/drain.ts";
import { snapshotOf } from "../../src/snapshot/lines/held-state.ts";
import type { SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { linesOf, readLines, stageLines } from "../snapshot/changes.ts";

/** Pushes a snapshot line by line, as a PUT does. */
export async function putSnapshot(
  gateway: Pick<Gateway<ServedGeneration>, "held" | "replace">,
  snapshot: ClusterSnapshot,
  terms?: RequestedTerms,
  sender?: Sender,
): Promise<Acknowledgement> {
  const { clusterId } = snapshot;
  const stage = stageLines("whole", gateway.held(clusterId), readLines(linesOf(snapshot)));
  return gateway.replace(clusterId, wholeStage(stage), terms, sender);
}

/** Pushes a delta line by line, as a PATCH does. */
export async function patchCluster(
  gateway: Pick<Gateway<ServedGeneration>, "held" | "change">,
  clusterId: string,
  baseGeneration: number,
  patch: SnapshotPatch,
  terms?: RequestedTerms,
): Promise<Acknowledgement> {
  const held = gateway.held(clusterId, baseGeneration);
  const stage = stageLines("changes", held, readLines(linesOf(patch)));
  const changes = { delta: drain(stage.finish()), lines: () => stage.lines() };
  return gateway.change(clusterId, baseGeneration, changes, terms);
}

/** What a gateway holds of a cluster now. */
export function heldOf(gateway: Gateway<ServedGeneration>, clusterId: string): ClusterSnapshot {
  return snapshotOf(clusterId, gateway.held(clusterId));
}
