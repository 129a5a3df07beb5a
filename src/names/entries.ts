import type { Contribution } from "../merge/service/declaration.ts";
import type { ClusterZone, LocalService } from "../snapshot/schema.ts";

/** What clusters reported for one key, `<namespace>/<label left of it>`, as far as it counts: of live clusters that exist in the scope. */
export interface KeyEntries {
  /** By ascending cluster id, also in namespaces that their clusters do not have. */
  readonly contributions: readonly Contribution[];
  /** Those of these clusters that have the namespace. */
  readonly clusters: ReadonlySet<string>;
}

/** A live cluster, as zones need it. */
export interface WorldCluster {
  readonly clusterId: string;
  readonly region?: string | undefined;
  /** Topology zones of its nodes, sorted. */
  readonly zones: readonly string[];
  /** The zone that it wants served to itself. */
  readonly zone?: ClusterZone | undefined;
}

/** A service for which a cluster reports an address. */
export interface AddressClaim {
  readonly clusterId: string;
  /** `<namespace>/<name>`. */
  readonly key: string;
  /** Whether it is a service of the cluster's own zone, and not of the clusterset. */
  readonly isLocal: boolean;
  /** The order in which clusters first reported the address; equal where they did so together, negative where it was lost. */
  readonly order: number;
}

/** Reads what clusters reported, of one scope. Labels are in lower case, of letters, digits, dashes and underscores. */
export interface EntryReader {
  /** The live clusters by ascending id. */
  clusters(): readonly WorldCluster[];
  /** What clusters export and import of a service; undefined where no cluster has a part in it. */
  service(namespace: string, name: string): KeyEntries | undefined;
  /** Services of a cluster with names that begin with a label (or end a dotted name), by `<namespace>/<name>`. */
  localServices(clusterId: string, namespace: string, label: string): ReadonlyMap<string, LocalService>;
  /** Whether a pod of a cluster has one of the addresses that a label spells: `<namespace>/<address>` as reported. */
  localPods(clusterId: string, namespace: string, label: string): readonly string[];
  hasNamespace(clusterId: string, namespace: string): boolean;
  /** The services for which clusters report an address that could have its reverse name. */
  claimsOn(address: Uint8Array): readonly AddressClaim[];
  /** Keys with exports or imports, `<namespace>/<name>`, of one namespace or of all. */
  serviceKeys(namespace?: string): Iterable<string>;
  /** Keys with names of a cluster's services. */
  localKeys(clusterId: string, namespace: string): Iterable<string>;
}
