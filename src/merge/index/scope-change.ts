/** What changed in a scope since it was last settled. */
export interface ScopeChange {
  /** Whether clusters joined or left, or have other namespaces, another topology or another zone of their own. */
  readonly clusters: boolean;
  /** Every service with a part that changed, and those that may be another one for a cluster with another namespace. */
  readonly services: ReadonlySet<string>;
  /** By cluster id: Services and pods of its own zone that changed. */
  readonly local: ReadonlyMap<string, { readonly services: Set<string>; readonly pods: Set<string> }>;
}

/** What is known of services that were merged before. */
export interface ResumedServices {
  readonly sizes: ReadonlyMap<string, number>;
  readonly reported: ReadonlySet<string>;
  /** Whether clusters that are not live had a view. */
  readonly withAbsent: boolean;
}

/** What changed until now, to be added to. */
export type PendingChange = ScopeChange & {
  clusters: boolean;
  findings: boolean;
  readonly services: Set<string>;
  readonly local: Map<string, { readonly services: Set<string>; readonly pods: Set<string> }>;
};

export function nothingPending(): PendingChange {
  return { clusters: false, findings: false, services: new Set(), local: new Map() };
}

/** What changed of the own zone of a cluster. */
export function localOf({ local }: PendingChange, clusterId: string) {
  const changed = local.get(clusterId) ?? { services: new Set<string>(), pods: new Set<string>() };
  local.set(clusterId, changed);
  return changed;
}

/** Adds a change to those that are pending. */
export function addChange(pending: PendingChange, { clusters, services, local }: ScopeChange): void {
  pending.clusters ||= clusters;
  for (const key of services) pending.services.add(key);
  for (const [clusterId, changed] of local) {
    const own = localOf(pending, clusterId);
    for (const key of changed.services) own.services.add(key);
    for (const key of changed.pods) own.pods.add(key);
  }
}
