import { canonicalName, parseZoneName } from "../dns/name.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import type { ClusterZone } from "../snapshot/schema.ts";
import { CLUSTERSET_TREE, federationTree, localTree } from "./name-tree.ts";
import type { Locality, TreeKey, Zone } from "./world.ts";

/** A live cluster, as zones need it. */
export interface ZoneCluster {
  readonly clusterId: string;
  readonly region?: string | undefined;
  /** Topology zones of its nodes, sorted. */
  readonly zones: readonly string[];
  /** The zone that it wants served to itself. */
  readonly zone?: ClusterZone | undefined;
}

/** A cluster with a zone of its own. */
type LocalCluster = ZoneCluster & { readonly zone: ClusterZone };

/** A federation zone; the kind of its clients decides which addresses it has. */
export interface FederationZone {
  /** The federation's name, a label. */
  readonly federation: string;
  /**
   * Internal clients get their own cluster's addresses first; external ones only load balancers, ordered by
   * locality alone.
   */
  readonly clients: "internal" | "external";
}

/** The content of a tree of names. */
export type TreePlan = { readonly key: TreeKey } & (
  | { readonly kind: "clusterset" }
  | { readonly kind: "cluster-local"; readonly cluster: LocalCluster }
  | { readonly kind: "federation"; readonly zones: FederationZone[] }
);

/**
 * Plans the zones with their trees: tree 0 is the clusterset's. A cluster's own zone that cannot be served
 * (its name is invalid or taken) is a finding.
 * @throws {NameError} if a configured zone is not a name. @throws {RangeError} if two kinds claim one zone.
 */
export function planZones(
  clusters: readonly ZoneCluster[],
  options: ZoneOptions,
  findings: ClusterFinding[],
): { readonly trees: readonly TreePlan[]; readonly zones: readonly Zone[] } {
  const trees: TreePlan[] = [{ key: CLUSTERSET_TREE, kind: "clusterset" }];
  const zones = new Map<string, ReturnType<typeof zoneOf>>();
  for (const zone of options.zones) {
    const name = canonicalName(zone);
    zones.set(name, zoneOf(name, 0));
  }
  if (zones.size === 0) throw new RangeError("a gateway needs at least one zone");
  for (const { name: federation, zone, domain } of options.federations)
    for (const [text, clients] of [
      [zone, "internal"],
      [domain, "external"],
    ] as const) {
      if (text === undefined) continue;
      const name = canonicalName(text);
      const plan = { federation, clients };
      const taken = zones.get(name);
      const tree = taken === undefined ? undefined : trees[taken.tree];
      if (tree !== undefined && (tree.kind !== "federation" || tree.zones[0]!.clients !== clients))
        throw new RangeError(
          `the zone ${name} is claimed by federation ${federation} and by another kind of zone`,
        );
      if (tree !== undefined) {
        tree.zones.push(plan);
        continue;
      }
      trees.push({ key: federationTree(name), kind: "federation", zones: [plan] });
      zones.set(name, zoneOf(name, trees.length - 1));
    }
  for (const [view, cluster] of clusters.entries()) {
    if (!hasLocalZone(cluster)) continue;
    const name = readLocalName(cluster, zones, findings);
    if (name === undefined) continue;
    const zone = zones.get(name) ?? zoneOf(name, -1);
    trees.push({ key: localTree(cluster.clusterId), kind: "cluster-local", cluster });
    zone.treeByView.set(view, trees.length - 1);
    zones.set(name, zone);
  }
  return { trees, zones: [...zones.values()] };
}

function zoneOf(name: string, tree: number) {
  return { name, ...parseZoneName(name), tree, treeByView: new Map<number, number>() };
}

function hasLocalZone(cluster: ZoneCluster): cluster is LocalCluster {
  return cluster.zone !== undefined;
}

function readLocalName(
  { clusterId, zone }: LocalCluster,
  zones: ReadonlyMap<string, { readonly tree: number }>,
  findings: ClusterFinding[],
): string | undefined {
  const report = (why: string) => {
    findings.push({
      clusterId,
      reason: "InvalidZone",
      kind: "ClusterZone",
      name: zone.name,
      message: `${why}: the cluster's own zone is not served`,
    });
    return undefined;
  };
  let name: string;
  try {
    name = canonicalName(zone.name);
  } catch (error) {
    return report((error as Error).message);
  }
  if (name === ".") return report("a cluster's zone cannot be the root");
  return (zones.get(name)?.tree ?? -1) >= 0 ? report(`${name} is a zone of the gateway`) : name;
}

/** A federation (federated service discovery): its name and the zones of its services. */
export interface FederationOptions {
  /** A label: the third of `<service>.<ns>.<federation>.svc.<zone>`. */
  readonly name: string;
  /** The federation zone for clients in the clusters, e.g. `federation`. */
  readonly zone?: string | undefined;
  /** The registered domain for external clients, e.g. `federation.example.com`. */
  readonly domain?: string | undefined;
}

/** A host in one of the zones: the gateway itself, if its name is in a zone. */
export interface HostOptions {
  readonly name: string;
  readonly addresses: readonly string[];
}

/** Settings of a compilation. TTLs in seconds. */
export interface ZoneOptions {
  /**
   * Zone names in text; the first is canonical and owns PTR targets. All zones have the same names,
   * with SRV targets in the zone of the query.
   */
  readonly zones: readonly string[];
  /** TTL of A, AAAA, SRV and PTR records. */
  readonly ttl: number;
  /** Negative TTL, as SOA MINIMUM (RFC 2308). */
  readonly negativeTtl: number;
  /** SOA serial of this generation. */
  readonly serial: number;
  readonly federations: readonly FederationOptions[];
  /** Localities of clients outside; federation zones keep an order of shards for each. */
  readonly localities: readonly Locality[];
  /** Addresses of `ns.dns.<zone>`, the zone's name server; none if it has no plain DNS. */
  readonly nameServerAddresses: readonly string[];
  /** Hosts that have address records in addition to the services; hosts out of zone are left out. */
  readonly hosts: readonly HostOptions[];
}

/** The defaults of the settings. */
export const DEFAULT_ZONE_OPTIONS: ZoneOptions = {
  zones: ["clusterset.local."],
  ttl: 5,
  negativeTtl: 5,
  serial: 1,
  federations: [],
  localities: [],
  nameServerAddresses: [],
  hosts: [],
};

/**
 * REFRESH, RETRY and EXPIRE of our SOA records in seconds (RFC 1912 section 2.2). They have no effect: the
 * gateway answers no zone transfers.
 */
export const SOA_TIMERS = { refresh: 7200, retry: 1800, expire: 86400 } as const;
