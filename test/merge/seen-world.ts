import type { Visibility } from "../../src/merge/visibility.ts";
import type { EntryFilter } from "../../src/merge/visible.ts";
import { createEntryFilter } from "../../src/merge/visible.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";

/** What exists of a world, as whole snapshots: each entry goes through the filter. */
export function seeWorld(visibility: Visibility, world: readonly ClusterSnapshot[]): ClusterSnapshot[] {
  const filter = createEntryFilter(visibility);
  if (filter === undefined) return [...world];
  const seen = world.filter(({ clusterId }) => filter.hasCluster(clusterId));
  return seen.map((one) => seeCluster(filter, one, seen));
}

function seeCluster(
  filter: EntryFilter,
  snapshot: ClusterSnapshot,
  seen: readonly ClusterSnapshot[],
): ClusterSnapshot {
  const { clusterZone } = snapshot;
  const isExported = (key: string) => () =>
    seen.some(
      ({ exports, namespaces }) =>
        Object.hasOwn(exports, key) && Object.hasOwn(namespaces, key.slice(0, key.indexOf("/"))),
    );
  const select = <Value>(table: Record<string, Value>, see: (key: string, value: Value) => unknown) =>
    Object.fromEntries(
      Object.entries(table).flatMap(([key, value]) => {
        const visible = see(key, value);
        return visible === undefined || visible === false ? [] : [[key, visible === true ? value : visible]];
      }),
    ) as Record<string, Value>;
  return {
    ...snapshot,
    namespaces: select(snapshot.namespaces, filter.hasNamespace),
    exports: select(snapshot.exports, filter.exported),
    imports: select(snapshot.imports, (key, service) => filter.imported(key, service, isExported(key))),
    services: select(snapshot.services, filter.local),
    pods: select(snapshot.pods, filter.hasPod),
    findings: select(snapshot.findings, (_, finding) => filter.hasFinding(finding)),
    ...(clusterZone !== undefined && { clusterZone: filter.zone(clusterZone) }),
  };
}
