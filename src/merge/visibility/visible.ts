import type { ClusterSnapshot, EndpointGroups, ImportedService } from "../../snapshot/schema.ts";
import { filterRecord, memoize, sameEntries } from "../unchanged.ts";
import { checkVisibility, type Visibility, visibilityKey, withoutView } from "./visibility.ts";
import { createVisibleAddresses, type VisibleAddresses } from "./visible-addresses.ts";

/**
 * What exists of live snapshots, at most one of each cluster. What did not change in what exists is the same object as in the result
 * before: entries, tables, snapshots, and the list itself.
 */
export type SnapshotFilter = (snapshots: readonly ClusterSnapshot[]) => readonly ClusterSnapshot[];

/** Whether a cluster is visible. */
export function seesCluster({ clusters }: Visibility, clusterId: string): boolean {
  return clusters?.includes(clusterId) ?? true;
}

/**
 * What is visible, whatever its view. What rests on hidden clusters is gone with them: their endpoints in what others import, and
 * imports that no cluster that exists exports or tells endpoints of.
 * @throws {RangeError} for a visibility that contradicts itself, or has a range that is none
 */
export function createSnapshotFilter(visibility: Visibility): SnapshotFilter {
  checkVisibility(visibility);
  if (visibilityKey(withoutView(visibility)) === "") return (snapshots) => snapshots;
  const see = memoize(createPartVisibility(visibility));
  let before = new Map<string, ClusterSnapshot>();
  let last: readonly ClusterSnapshot[] = [];

  return (snapshots) => {
    const seen = snapshots.filter(({ clusterId }) => seesCluster(visibility, clusterId)).map(see);
    const backed = visibility.clusters === undefined ? seen : seen.map((one) => withBackedImports(one, seen));
    const visible = backed.map((one) => orBefore(one, before.get(one.clusterId)));
    before = new Map(visible.map((one) => [one.clusterId, one]));
    if (visible.length !== last.length || visible.some((one, index) => one !== last[index])) last = visible;
    return last;
  };
}

/** What exists of one cluster, as far as it alone decides that. */
function createPartVisibility(visibility: Visibility): (snapshot: ClusterSnapshot) => ClusterSnapshot {
  const { clusters } = visibility;
  const namespaces = visibility.namespaces && new Set(visibility.namespaces);
  const addresses = createVisibleAddresses(visibility);
  const hasNamespace = (namespace: string) => namespaces?.has(namespace) ?? true;
  const select = <Value>(
    table: Record<string, Value>,
    namespaceOf: (key: string) => string,
    see: ((value: Value) => Value | undefined) | undefined,
  ) =>
    namespaces === undefined && see === undefined
      ? table
      : filterRecord(table, (value, key) => {
          if (!hasNamespace(namespaceOf(key))) return undefined;
          return see === undefined ? value : see(value);
        });
  const imported = createImportVisibility(clusters, addresses);

  return (snapshot) => {
    const { clusterZone, pods, findings } = snapshot;
    return {
      ...snapshot,
      namespaces: select(snapshot.namespaces, (key) => key, undefined),
      exports: select(snapshot.exports, namespaceOf, addresses?.exported),
      imports: select(snapshot.imports, namespaceOf, imported),
      services: select(snapshot.services, namespaceOf, addresses?.local),
      pods: filterRecord(pods, (pod, key) =>
        hasNamespace(namespaceOf(key)) && addresses?.pod(key.slice(key.indexOf("/") + 1)) !== false
          ? pod
          : undefined,
      ),
      findings: filterRecord(findings, (finding) =>
        // What a cluster says in words may name other clusters, addresses and host names.
        clusters === undefined &&
        addresses === undefined &&
        finding.namespace !== undefined &&
        hasNamespace(finding.namespace)
          ? finding
          : undefined,
      ),
      ...(clusterZone !== undefined &&
        addresses !== undefined && { clusterZone: addresses.zone(clusterZone) }),
    };
  };
}

function createImportVisibility(
  clusters: Visibility["clusters"],
  addresses: VisibleAddresses | undefined,
): ((service: ImportedService) => ImportedService) | undefined {
  if (clusters === undefined) return addresses?.imported;
  const ids = new Set(clusters);
  return memoize((service) => {
    const endpoints = filterRecord(service.endpoints, (groups: EndpointGroups, source) =>
      ids.has(source.toLowerCase()) ? groups : undefined,
    );
    const own = endpoints === service.endpoints ? service : { ...service, endpoints };
    return addresses?.imported(own) ?? own;
  });
}

/** Without imports that are there for hidden clusters only, which would not be there without those. */
function withBackedImports(snapshot: ClusterSnapshot, seen: readonly ClusterSnapshot[]): ClusterSnapshot {
  const imports = filterRecord(snapshot.imports, (service, key) =>
    Object.keys(service.endpoints).length > 0 || seen.some((one) => exportsService(one, key))
      ? service
      : undefined,
  );
  return imports === snapshot.imports ? snapshot : { ...snapshot, imports };
}

/** What stands in a namespace that the cluster does not have is not exported. */
function exportsService({ exports, namespaces }: ClusterSnapshot, key: string): boolean {
  return Object.hasOwn(exports, key) && Object.hasOwn(namespaces, namespaceOf(key));
}

const TABLES = ["namespaces", "exports", "imports", "services", "pods", "findings"] as const;

/** The snapshot, or the one before where nothing that exists has changed; unchanged tables are those of before. */
function orBefore(snapshot: ClusterSnapshot, before: ClusterSnapshot | undefined): ClusterSnapshot {
  if (before === undefined || snapshot === before) return snapshot;
  const kept: Partial<ClusterSnapshot> = {};
  for (const table of TABLES)
    if (sameEntries(snapshot[table], before[table])) Object.assign(kept, { [table]: before[table] });
  const isSame =
    Object.keys(kept).length === TABLES.length &&
    snapshot.topology === before.topology &&
    snapshot.clusterZone === before.clusterZone;
  return isSame ? before : { ...snapshot, ...kept };
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}
