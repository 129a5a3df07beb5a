import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import { compareFindings } from "../merge/order.ts";
import type { KeyWorld } from "./key-world.ts";
import { keysOf } from "./listing.ts";

/** What there is to say of all keys. */
export interface Survey {
  /** Keys of the clusterset's services by namespace, then name. */
  readonly services: readonly string[];
  /** By service. */
  readonly conflicts: readonly Conflict[];
  /** What clusters reported, and what merging and compiling found: by cluster id, namespace, name, kind, reason and message. */
  readonly findings: readonly ClusterFinding[];
}

/** Merges and compiles every key in every kind of zone, which takes as long as there are keys. */
export function surveyOf(world: KeyWorld): Survey {
  const { trees, findings: ofZones } = world.context;
  const services: string[] = [];
  const conflicts: Conflict[] = [];
  const findings = [...ofZones, ...world.entries.findings()];
  // A unit has all federation zones.
  const federation = trees.find(({ plan }) => plan.kind === "federation");
  for (const tree of trees) {
    if (tree.plan.kind === "federation" && tree !== federation) continue;
    for (const key of keysOf(world, tree)) {
      const unit = world.unitOf(tree, key);
      if (tree.plan.kind === "clusterset" && unit.hasService) {
        services.push(key);
        findings.push(...world.reverseLosses(key));
      }
      conflicts.push(...unit.conflicts);
      findings.push(...unit.findings);
    }
  }
  return { services, conflicts, findings: findings.sort(compareFindings) };
}
