import type { ClusterFinding } from "../../merge/clusterset.ts";
import type { MergedServices } from "../../merge/index/merged-services.ts";
import { compareFindings } from "../../merge/order.ts";
import type { Leases } from "../../resolve/leases.ts";
import type { ServedZone } from "../doh-gateway.ts";
import type { ServedGeneration } from "../stages.ts";

/** What is served. Its lists are joined on demand. */
export function zoneOf<Generation extends ServedGeneration>(
  generation: Generation,
  leases: Leases,
  services: MergedServices,
  found: readonly ClusterFinding[],
  contended: () => readonly ClusterFinding[],
): ServedZone<Generation> {
  let joined: { readonly of: unknown; readonly findings: readonly ClusterFinding[] } | undefined;
  return {
    generation,
    leases,
    services: services.size,
    merged: services,
    get conflicts() {
      return services.list().conflicts;
    },
    get findings() {
      const { findings } = services.list();
      if (joined?.of !== findings)
        joined = { of: findings, findings: [...findings, ...found.toSorted(compareFindings)] };
      const more = contended();
      return more.length === 0 ? joined.findings : [...joined.findings, ...more];
    },
  };
}
