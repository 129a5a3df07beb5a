import { deriveConditions, type InvalidReason } from "../../src/desired/conditions.ts";
import { type DesiredService, deriveService, type Reach } from "../../src/desired/desired-service.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import { Accounts } from "../../src/names/services.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { entriesOf } from "../names/entries-of.ts";

/** The desired state of a world, with the merged services that it follows from. */
export function deriveWorld(
  world: readonly ClusterSnapshot[],
  reachOf: (clusterId: string) => Reach = () => "pods",
) {
  const accounts = new Accounts(new KeyWorld(entriesOf(world), {}, {}, new Map()));
  return {
    accounts,
    /** @param view the cluster that has it */
    service: (key = "shop/web", view?: string): DesiredService | undefined =>
      deriveService(accounts.of(key, view), reachOf),
    conditions: (clusterId: string, key = "shop/web", invalid?: { reason: InvalidReason; message: string }) =>
      deriveConditions({ clusterId, reach: reachOf(clusterId), ...accounts.of(key, clusterId), invalid }),
  };
}
