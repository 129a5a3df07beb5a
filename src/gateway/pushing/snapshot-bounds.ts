/** Bounds on what one cluster's snapshot has, by the keys of the settings under `limits`. */
export interface SnapshotBounds {
  readonly namespaces: number;
  readonly exports: number;
  readonly imports: number;
  /** Services of the cluster's own zone. */
  readonly services: number;
  /** Pods with names in the cluster's own zone. */
  readonly pods: number;
  /** Endpoints of exports, imports and services together. */
  readonly endpoints: number;
  /** Ports of services, and of each endpoint, together: SRV records go by them. */
  readonly ports: number;
  readonly findings: number;
  /** Characters of exported labels and annotations together, keys and values. */
  readonly metadataCharacters: number;
}

/**
 * Room for the largest cluster that Kubernetes supports (Considerations for large clusters; scalability thresholds): 150,000 pods,
 * 10,000 Services and 10,000 namespaces, with each Service exported, in the cluster's own zone, and with a finding; and a fifth more.
 */
export const DEFAULT_SNAPSHOT_BOUNDS: SnapshotBounds = {
  // A generation has room for 65,535 of all clusters.
  namespaces: 10_000,
  exports: 12_000,
  imports: 12_000,
  services: 12_000,
  pods: 180_000,
  endpoints: 360_000,
  ports: 800_000,
  findings: 12_000,
  metadataCharacters: 4 * 1024 * 1024,
};
