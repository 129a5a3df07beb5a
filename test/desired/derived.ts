import { deriveConditions, type InvalidReason } from "../../src/desired/conditions.ts";
import { type DesiredService, deriveService, type Reach } from "../../src/desired/desired-service.ts";
import { MergedServices } from "../../src/merge/index/merged-services.ts";
import { ServiceIndex } from "../../src/merge/index/service-index.ts";
import { EVERYTHING } from "../../src/merge/visibility/visibility.ts";
import { heldSnapshot } from "../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";

/** The desired state of a world, with the merged services that it follows from. */
export function deriveWorld(
  world: readonly ClusterSnapshot[],
  reachOf: (clusterId: string) => Reach = () => "pods",
) {
  const index = new ServiceIndex();
  const merged = new MergedServices(index, EVERYTHING);
  for (const snapshot of world) for (const _ of index.join(snapshot.clusterId, heldSnapshot(snapshot)));
  for (const _ of merged.settle());
  return {
    merged,
    service: (key = "shop/web"): DesiredService | undefined => deriveService(merged.accountOf(key), reachOf),
    conditions: (
      clusterId: string,
      key = "shop/web",
      invalid?: { reason: InvalidReason; message: string },
    ) => {
      const { parts, declared } = merged.accountOf(key);
      const conflicts = merged.conflictsOf(key);
      return deriveConditions({ clusterId, reach: reachOf(clusterId), parts, declared, conflicts, invalid });
    },
  };
}
