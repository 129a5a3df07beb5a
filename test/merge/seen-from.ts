import { namespaceOf } from "../../src/merge/order.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";

/** What clusters report as a cluster's view has it, by the words of kubernetes/enhancements#6329. */
export function seenFrom(view: string | undefined, world: readonly ClusterSnapshot[]): ClusterSnapshot[] {
  if (view === undefined) return [...world];
  const lacking = new Map<string, Set<string>>();
  for (const { clusterId, exports, namespaces } of world)
    for (const [key, { clusters }] of Object.entries(exports)) {
      const counts = Object.hasOwn(namespaces, namespaceOf(key));
      if (!counts || clusters === undefined || clusterId === view || clusters.includes(view)) continue;
      lacking.set(key, (lacking.get(key) ?? new Set()).add(clusterId));
    }
  return world.map((one) => ({
    ...one,
    exports: Object.fromEntries(
      Object.entries(one.exports).filter(([key]) => lacking.get(key)?.has(one.clusterId) !== true),
    ),
    imports: Object.fromEntries(
      Object.entries(one.imports).map(([key, imported]) => {
        const without = lacking.get(key);
        return [key, without === undefined ? imported : { ...imported, managed: true as const }];
      }),
    ),
  }));
}
