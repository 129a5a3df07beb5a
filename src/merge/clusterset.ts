import type { EndpointPort, Finding, ServicePort } from "../snapshot/schema.ts";

/** A service, by its name. */
export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** An endpoint of a clusterset service that may be answered with: ready, or published although not ready. */
export interface ClustersetEndpoint {
  /** The cluster the endpoint runs in; from import mode it is the source-cluster label as written. */
  readonly clusterId: string;
  /** The cluster whose snapshot has it: its lease bounds the answer. */
  readonly reportedBy: string;
  readonly address: string;
  readonly hostname?: string;
  readonly zone?: string;
  /** Where the endpoint listens (headless SRV ports come from here). */
  readonly ports: readonly EndpointPort[];
}

/** Addresses for one view, with the clusters whose snapshots they rest on. */
export interface ClustersetAddresses {
  readonly source: "ClusterSetIP" | "LoadBalancer" | "Endpoint" | "none";
  /** Distinct IP addresses as reported; a text that is no IP address became a finding. */
  readonly addresses: readonly string[];
  /** Where no load balancer has an address: the host name of one. */
  readonly hostname?: string;
  /** Of endpoints: the distinct ports on which they listen. */
  readonly ports?: readonly EndpointPort[];
  readonly reportedBy: readonly string[];
  /**
   * Where several clusters report clusterset IPs: those that report each address, in the order of their part
   * in the service.
   */
  readonly reporters?: ReadonlyMap<string, readonly string[]>;
}

/** One service of the clusterset, derived by KEP-1645's rules from all live clusters. */
export interface ClustersetService {
  readonly namespace: string;
  readonly name: string;
  readonly type: "ClusterSetIP" | "Headless";
  /** The union (KEP-1645, Service Port): protocol never empty, no name and no protocol with number twice. */
  readonly ports: readonly ServicePort[];
  /** This and the next three are absent where they have the Kubernetes API's default. */
  readonly sessionAffinity?: string;
  readonly sessionAffinityTimeoutSeconds?: number;
  readonly internalTrafficPolicy?: string;
  readonly trafficDistribution?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Clusters that export the service, oldest ServiceExport first. */
  readonly exporters: readonly string[];
  /**
   * From when each cluster has its part in the service, in Unix milliseconds: since its export, or since its
   * import was first seen; always, if it may speak for others. The first cluster keeps the reverse name of an
   * address that several report.
   */
  readonly since: ReadonlyMap<string, number>;
  /** Clusters whose snapshots the service exists by (exporters, else importers). */
  readonly reportedBy: readonly string[];
  /** ClusterSetIP only: what a query without a source cluster gets. */
  readonly outside: ClustersetAddresses;
  /**
   * ClusterSetIP only: what a query from that cluster gets, for clusters where it differs from `outside`; in
   * one order, whatever the order of reports.
   */
  readonly byCluster: ReadonlyMap<string, ClustersetAddresses>;
  /** ClusterSetIP only: exporters' parts in the service, in the order of `exporters`. */
  readonly shards: readonly Shard[];
  /**
   * Headless: every endpoint to answer with, sorted by cluster id, then address, then hostname. Empty for
   * ClusterSetIP.
   */
  readonly endpoints: readonly ClustersetEndpoint[];
}

/** One cluster's part in a clusterset service, for federation zones (federated service discovery). */
export interface Shard {
  readonly clusterId: string;
  /** The cluster's own addresses of the service: for clients in that cluster. */
  readonly clusterIPs: readonly string[];
  /** Addresses that others reach it by: load balancers, then external IPs. */
  readonly externalAddresses: readonly string[];
  /** Host names of load balancers that have no address. */
  readonly externalNames: readonly string[];
}

/**
 * A property on which the exporters of one service disagree (KEP-1645, Constraints and Conflict Resolution).
 */
export interface Conflict {
  readonly namespace: string;
  readonly name: string;
  /** The condition reason of the MCS API, e.g. `PortConflict`, `TypeConflict`. */
  readonly reason: string;
  readonly property: string;
  /**
   * Whose value is used: the oldest ServiceExport's; without exports, that of the import that was seen first,
   * those of clusters with a grant before others.
   */
  readonly winner: string;
  /** At most 256 UTF-16 code units; for the properties `ports` and `ipFamilies` the union. */
  readonly value: string;
  /** Clusters whose value was set aside. */
  readonly disagree: readonly string[];
  /** How many clusters export the service; without exports, how many import it. */
  readonly total: number;
  /**
   * In KEP-1645's words:
   * `Conflicting type. Using "ClusterSetIP" from oldest service export in "cluster-1". 2/5 clusters
   * disagree.`
   */
  readonly message: string;
}

/** A finding with the cluster it comes from. */
export interface ClusterFinding extends Finding {
  readonly clusterId: string;
}

/**
 * Takes the place of a cluster that is not live, such as one whose lease expired, among those that queries
 * come from: nothing is known of its own `spec.ips`, and those of others need not route there. No cluster id
 * is like it.
 */
export const ABSENT_CLUSTER = "*";

/** The entries that `keep` gives something for, with what it gives. */
export function filterRecord<Value>(
  record: Readonly<Record<string, Value>>,
  keep: (value: Value, key: string) => Value | undefined,
): Record<string, Value> {
  const kept: Record<string, Value> = {};
  for (const [key, value] of Object.entries(record)) {
    const own = keep(value, key);
    if (own !== undefined) kept[key] = own;
  }
  return kept;
}
