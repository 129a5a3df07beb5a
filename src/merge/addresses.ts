import { parseAddress, usableAddress } from "../dns/address.ts";
import { canonicalName } from "../dns/name.ts";
import type { EndpointPort } from "../snapshot/schema.ts";
import type { ClusterFinding, ClustersetAddresses, ClustersetEndpoint, ServiceName } from "./clusterset.ts";
import type { Contribution } from "./declaration.ts";
import { compareText } from "./order.ts";

/** Where the addresses of a ClusterSetIP service can come from. */
export type AddressSource = "ClusterSetIP" | "LoadBalancer" | "Endpoint";

/** What clients outside get unless configured otherwise. */
export const DEFAULT_OUTSIDE_ORDER: readonly AddressSource[] = ["ClusterSetIP", "LoadBalancer", "Endpoint"];

// Another cluster's spec.ips are not in it: they need not route here (KEP-1645, ClusterSetIP).
const INSIDE_ORDER: readonly AddressSource[] = ["LoadBalancer", "Endpoint"];

/** Addresses per view of a ClusterSetIP service, and the addresses that are none. */
interface ServiceAddresses {
  readonly outside: ClustersetAddresses;
  readonly byCluster: ReadonlyMap<string, ClustersetAddresses>;
  readonly findings: readonly ClusterFinding[];
}

const NONE: ClustersetAddresses = { source: "none", addresses: [], reportedBy: [] };

/** What a service without addresses of its own has: a headless one. */
export const NO_ADDRESSES: ServiceAddresses = { outside: NONE, byCluster: new Map(), findings: [] };

/** By cluster, the addresses that its own view alone has. */
export type OwnAddresses = ReadonlyMap<string, readonly string[]>;

/** What addresses are chosen by. */
interface AddressRules {
  /** The sources for clients outside. */
  readonly order: readonly AddressSource[];
  /** Whose `spec.ips` count outside. */
  readonly countsForOthers: (clusterId: string) => boolean;
  /** How old each cluster's part is, in Unix milliseconds. */
  readonly since: ReadonlyMap<string, number>;
  /** `spec.ips` of ServiceImports that workers made from the desired state. Default: there are none. */
  readonly ownAddresses?: OwnAddresses | undefined;
  /** Called only where they are needed. */
  readonly endpoints: () => readonly ClustersetEndpoint[];
}

/**
 * Chooses the addresses of a ClusterSetIP service: for outside clients the first source of `order` from which
 * the oldest clusters with an address have one, so that a younger cluster adds addresses and replaces none;
 * for each cluster of `viewers` its own ServiceImport's `spec.ips`, else load-balancer addresses or ready
 * endpoints by the same rule. All addresses of the source count.
 */
export function chooseAddresses(
  service: ServiceName,
  contributions: readonly Contribution[],
  viewers: readonly string[],
  { order, countsForOthers, since, ownAddresses = new Map(), endpoints }: AddressRules,
): ServiceAddresses {
  const findings: ClusterFinding[] = [];
  const keepAddresses = (clusterId: string, kind: string, field: string, texts: readonly string[]) =>
    texts.filter((text) => {
      if (usableAddress(text) !== undefined) return true;
      const message = `${field} holds ${JSON.stringify(text)}, which is not an IP address; it is left out`;
      findings.push({ clusterId, reason: "InvalidAddress", kind, ...service, message });
      return false;
    });

  const clusterSetIPs = new Map<string, ClustersetAddresses>();
  const addClusterSetIPs = (
    to: Map<string, ClustersetAddresses>,
    clusterId: string,
    texts: readonly string[],
  ) => {
    const ips = keepAddresses(clusterId, "ServiceImport", "spec.ips", texts);
    if (ips.length > 0) to.set(clusterId, unite("ClusterSetIP", [{ clusterId, addresses: ips }]));
  };
  const ownIPs = new Map<string, ClustersetAddresses>();
  for (const [clusterId, texts] of ownAddresses) addClusterSetIPs(ownIPs, clusterId, texts);
  const loadBalancers: Reported[] = [];
  const namedBalancers: NamedBalancer[] = [];
  for (const { clusterId, exported, imported } of contributions) {
    if (imported !== undefined) addClusterSetIPs(clusterSetIPs, clusterId, imported.ips);
    if (exported !== undefined && !exported.headless) {
      const ingress = (exported.loadBalancer ?? []).flatMap(({ ip }) => (ip ? [ip] : []));
      const addresses = [
        ...keepAddresses(clusterId, "Service", "status.loadBalancer.ingress", ingress),
        ...keepAddresses(clusterId, "Service", "spec.externalIPs", exported.externalIPs ?? []),
      ];
      loadBalancers.push({ clusterId, addresses });
      const isAlone = addresses.length === 0;
      const hostnames = (exported.loadBalancer ?? []).flatMap(({ ip, hostname }) =>
        hostname && (isAlone || !ip) ? hostname : [],
      );
      for (const hostname of new Set(hostnames)) namedBalancers.push({ clusterId, hostname, isAlone });
    }
  }

  const gather = (source: AddressSource): ClustersetAddresses => {
    if (source === "ClusterSetIP") {
      const counted = [...clusterSetIPs].filter(([clusterId]) => countsForOthers(clusterId));
      return unite(
        source,
        counted.map(([clusterId, { addresses }]) => ({ clusterId, addresses })),
      );
    }
    if (source === "LoadBalancer") {
      const united = unite(source, loadBalancers);
      const [first] = namedBalancers
        .filter(({ isAlone }) => isAlone)
        .sort((one, other) => compareAges(one.clusterId, other.clusterId, since));
      // A CNAME record stands alone (RFC 1034 section 3.6.2): the oldest decides, so that a younger cluster
      // replaces none.
      if (
        first === undefined ||
        united.reportedBy.some((id) => ageOf(id, since) <= ageOf(first.clusterId, since))
      )
        return united;
      const { clusterId, hostname } = first;
      return { source, addresses: [], hostname, reportedBy: [clusterId] };
    }
    const ports = new Map<string, EndpointPort>();
    const reports = endpoints().map(({ reportedBy: clusterId, address, ports: own }) => {
      for (const port of own) ports.set(`${port.name}/${port.protocol || "TCP"}/${port.port}`, port);
      const addresses = keepAddresses(clusterId, "EndpointSlice", "endpoints.addresses", [address]);
      return { clusterId, addresses };
    });
    return { ...unite(source, reports), ...(ports.size > 0 && { ports: [...ports.values()] }) };
  };
  const gathered = new Map<AddressSource, ClustersetAddresses>();
  const addressesOf = (source: AddressSource): ClustersetAddresses => {
    const found = gathered.get(source) ?? gather(source);
    gathered.set(source, found);
    return found;
  };
  const exporters = contributions.filter(({ exported }) => exported !== undefined);
  // An importer that exports nothing joins the oldest export, whatever it may speak for.
  const oldestExport =
    exporters.length === 0
      ? Number.NEGATIVE_INFINITY
      : Math.min(...exporters.map(({ clusterId }) => ageOf(clusterId, since)));
  const partAge = (clusterId: string) => Math.max(ageOf(clusterId, since), oldestExport);
  const ages = [...new Set(contributions.map(({ clusterId }) => partAge(clusterId)))].sort(
    (left, right) => left - right,
  );
  const firstOf = (sources: readonly AddressSource[]): ClustersetAddresses => {
    for (const age of ages)
      for (const source of sources) {
        const found = addressesOf(source);
        if (found.reportedBy.some((clusterId) => partAge(clusterId) === age)) return found;
      }
    return NONE;
  };

  const outside = withReporters(firstOf(order), clusterSetIPs, since);
  for (const named of namedBalancers) {
    const why = whyLeftOut(named, outside);
    if (why === undefined) continue;
    const { clusterId, hostname } = named;
    const message = `the load balancer's host name ${JSON.stringify(hostname)} ${why}`;
    findings.push({ clusterId, reason: "HostNameLeftOut", kind: "Service", ...service, message });
  }
  for (const { clusterId, addresses } of outside.hostname === undefined ? [] : loadBalancers) {
    if (addresses.length === 0) continue;
    const message = `the load balancer's addresses cannot be answered beside the CNAME record to ${outside.hostname} of the older export (RFC 1034 section 3.6.2)`;
    findings.push({ clusterId, reason: "AddressLeftOut", kind: "Service", ...service, message });
  }
  const byCluster = new Map<string, ClustersetAddresses>();
  let inside: ClustersetAddresses | undefined;
  for (const viewer of viewers) {
    let own = ownIPs.get(viewer) ?? clusterSetIPs.get(viewer);
    if (own === undefined) own = inside ??= firstOf(INSIDE_ORDER);
    if (!sameAddresses(own, outside)) byCluster.set(viewer, own);
  }
  return { outside, byCluster, findings };
}

/** A load balancer with a host name (AWS). */
interface NamedBalancer {
  readonly clusterId: string;
  readonly hostname: string;
  /** Whether its cluster has no addresses of load balancers. */
  readonly isAlone: boolean;
}

/**
 * Why no client is led to a load balancer; undefined where some are, and where something else comes before
 * load balancers.
 */
function whyLeftOut(
  { hostname: own }: NamedBalancer,
  { source, hostname }: ClustersetAddresses,
): string | undefined {
  if (source !== "LoadBalancer" || hostname === own) return undefined;
  const beside =
    hostname === undefined
      ? "beside the addresses of another load balancer"
      : `beside the one to ${hostname}`;
  return `cannot be a CNAME record ${beside} (RFC 1034 section 3.6.2): no client is led to it until it has an address`;
}

/**
 * What clusters contribute, without the host names of load balancers to which no CNAME record can lead; each
 * of those is a finding.
 * @param zones of the gateway
 */
export function keepHostNames(
  service: ServiceName,
  contributions: readonly Contribution[],
  zones: readonly string[],
): { readonly usable: readonly Contribution[]; readonly findings: readonly ClusterFinding[] } {
  const findings: ClusterFinding[] = [];
  const usable = contributions.map((one) => {
    const { clusterId, exported } = one;
    const before = findings.length;
    const loadBalancer = exported?.loadBalancer?.map(({ hostname, ...rest }) => {
      const problem = hostname ? hostNameProblem(hostname, zones) : undefined;
      if (problem === undefined) return { ...rest, hostname };
      const message = `the load balancer's host name ${JSON.stringify(hostname)} ${problem}: it is left out`;
      findings.push({ clusterId, reason: "InvalidHostName", kind: "Service", ...service, message });
      return rest;
    });
    return findings.length === before ? one : { ...one, exported: { ...exported!, loadBalancer } };
  });
  return { usable, findings };
}

/** What is wrong with a host name: a CNAME record to it would lead back to this gateway, or nowhere. */
function hostNameProblem(text: string, zones: readonly string[]): string | undefined {
  if (parseAddress(text) !== undefined) return "is an address, not a DNS name";
  try {
    const host = canonicalName(text);
    const isOwn = zones.some((zone) => host === zone || host.endsWith(`.${zone}`));
    return isOwn ? "is in a zone of this gateway, to which it would lead back" : undefined;
  } catch (error) {
    return `is not a DNS name (${(error as Error).message})`;
  }
}

/** Adds the clusters that report each clusterset IP, if there are several. */
function withReporters(
  chosen: ClustersetAddresses,
  clusterSetIPs: ReadonlyMap<string, ClustersetAddresses>,
  since: ReadonlyMap<string, number>,
): ClustersetAddresses {
  if (chosen.source !== "ClusterSetIP" || chosen.reportedBy.length < 2) return chosen;
  const reporters = new Map<string, string[]>();
  const oldestFirst = chosen.reportedBy.toSorted((left, right) => compareAges(left, right, since));
  for (const clusterId of oldestFirst)
    for (const address of clusterSetIPs.get(clusterId)!.addresses) {
      const some = reporters.get(address);
      if (some === undefined) reporters.set(address, [clusterId]);
      else some.push(clusterId);
    }
  return { ...chosen, reporters };
}

/** Since when the part of a cluster counts; one without a time is the youngest. */
function ageOf(clusterId: string, since: ReadonlyMap<string, number>): number {
  return since.get(clusterId) ?? Number.POSITIVE_INFINITY;
}

function compareAges(left: string, right: string, since: ReadonlyMap<string, number>): number {
  const [one, other] = [ageOf(left, since), ageOf(right, since)];
  return one === other ? compareText(left, right) : one - other;
}

interface Reported {
  readonly clusterId: string;
  readonly addresses: readonly string[];
}

/** Distinct addresses, with the clusters that report some. */
function unite(source: AddressSource, reports: readonly Reported[]): ClustersetAddresses {
  const used = reports.filter(({ addresses }) => addresses.length > 0);
  return {
    source,
    addresses: [...new Set(used.flatMap(({ addresses }) => addresses))],
    reportedBy: [...new Set(used.map(({ clusterId }) => clusterId))].sort(compareText),
  };
}

function sameAddresses(left: ClustersetAddresses, right: ClustersetAddresses): boolean {
  if (left === right) return true;
  if (left.addresses.length !== right.addresses.length || left.hostname !== right.hostname) return false;
  if (JSON.stringify(left.ports) !== JSON.stringify(right.ports)) return false;
  const some = new Set(right.addresses);
  return left.addresses.every((address) => some.has(address));
}
