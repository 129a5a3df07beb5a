import type { Clusterset } from "../../src/merge/clusterset.ts";
import { MergedServices, type MergeOptions } from "../../src/merge/index/merged-services.ts";
import { type Remembered, ServiceIndex } from "../../src/merge/index/service-index.ts";
import { clustersetOf } from "../../src/merge/merge.ts";
import { EVERYTHING, type Visibility } from "../../src/merge/visibility/visibility.ts";
import { drain } from "../../src/snapshot/drain.ts";
import { packDelta } from "../../src/snapshot/entry-changes.ts";
import { HeldTables } from "../../src/snapshot/held/held-tables.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { changesBetween } from "../snapshot/changes.ts";

/** What an index is made with. */
export interface IndexedOptions extends MergeOptions {
  readonly remembered?: Remembered;
  readonly visibility?: Visibility;
  /** Characters of entries that are kept unpacked. */
  readonly mostUnpacked?: number;
}

/** An index that follows worlds: each of them as the changes from the world before. */
export function createIndexed({
  remembered,
  visibility = EVERYTHING,
  mostUnpacked,
  ...options
}: IndexedOptions = {}) {
  const index = new ServiceIndex(remembered, mostUnpacked);
  const services = new MergedServices(index, visibility, options);
  const held = new Map<string, HeldTables>();
  /** Takes over what the world has instead of what it had. */
  const follow = (world: readonly ClusterSnapshot[]) => {
    const ids = new Set(world.map(({ clusterId }) => clusterId));
    for (const clusterId of held.keys()) {
      if (ids.has(clusterId)) continue;
      held.delete(clusterId);
      drain(index.leave(clusterId));
    }
    for (const snapshot of world) {
      const before = held.get(snapshot.clusterId);
      if (before === undefined) {
        const own = HeldTables.of(snapshot);
        held.set(snapshot.clusterId, own);
        drain(index.join(snapshot.clusterId, own));
      } else {
        const change = drain(packDelta(changesBetween(before, snapshot)));
        drain(before.apply(change));
        drain(index.change(snapshot.clusterId, change));
      }
    }
  };
  const settled = (): Clusterset => {
    drain(services.settle());
    return clustersetOf(index, services);
  };
  return {
    ...{ index, services, follow, settled },
    merge: (world: readonly ClusterSnapshot[], withAbsent = false) => {
      services.withAbsent = withAbsent;
      follow(world);
      return settled();
    },
  };
}
