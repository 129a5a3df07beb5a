import { isInRange, parseAddress, parseAddressRanges } from "../dns/address.ts";
import type {
  ClusterZone,
  EndpointGroups,
  ExportedService,
  Finding,
  ImportedService,
  LocalService,
} from "../snapshot/schema.ts";
import { filterRecord } from "./clusterset.ts";
import { nameOf, namespaceOf } from "./order.ts";
import {
  canonicalDomain,
  checkVisibility,
  type Visibility,
  type VisibleAddressSource,
  visibilityKey,
  withoutView,
} from "./visibility.ts";

/** What exists of the entries of a snapshot, one by one. */
export type EntryFilter = NonNullable<ReturnType<typeof createEntryFilter>>;

/**
 * What is visible of the entries of a snapshot, whatever its view; undefined where everything is. What rests
 * on hidden clusters is gone with them: their endpoints in what others import, and imports that no cluster
 * that exists exports or reports endpoints of.
 * @throws {RangeError} for a visibility that contradicts itself, or has a range that is none
 */
export function createEntryFilter(visibility: Visibility) {
  checkVisibility(visibility);
  if (visibilityKey(withoutView(visibility)) === "") return undefined;
  const clusters = visibility.clusters && new Set(visibility.clusters);
  const namespaces = visibility.namespaces && new Set(visibility.namespaces);
  const addresses = createVisibleAddresses(visibility);
  const hasNamespace = (namespace: string) => namespaces?.has(namespace) ?? true;
  const isThere = (key: string) => hasNamespace(namespaceOf(key));
  return {
    /** Whether all clusters and namespaces exist, so that every export and import does. */
    hidesNoService: clusters === undefined && namespaces === undefined,
    /** Whether some addresses of a service that exists do not. */
    hidesAddresses: addresses !== undefined,
    /** Whether an import may not exist in a namespace that does. */
    hidesImports: clusters !== undefined,
    /** Whether an address may be one of a service. */
    mayHaveAddress: (address: Uint8Array) => addresses?.isInRanges(address) !== false,
    /**
     * Whether addresses that come from one of some sources may exist; undefined where some of these sources
     * are hidden.
     */
    hasSources: (sources: readonly VisibleAddressSource[]): boolean | undefined =>
      addresses === undefined || addresses.hasSources(sources),
    hasCluster: (clusterId: string) => clusters?.has(clusterId) ?? true,
    hasNamespace,
    exported(key: string, service: ExportedService): ExportedService | undefined {
      if (!isThere(key)) return undefined;
      const seen = { ...service, clusters: service.clusters?.filter((one) => clusters?.has(one) ?? true) };
      return addresses === undefined ? seen : addresses.exported(seen);
    },
    /** @param isExported whether a cluster that exists exports the service, in a namespace that it has */
    imported(key: string, service: ImportedService, isExported: () => boolean): ImportedService | undefined {
      if (!isThere(key)) return undefined;
      const endpoints = filterRecord(service.endpoints, (groups, source) =>
        clusters?.has(source.toLowerCase()) === false ? undefined : groups,
      );
      const isBacked = clusters === undefined || Object.keys(endpoints).length > 0 || isExported();
      if (!isBacked) return undefined;
      const seen = { ...service, endpoints };
      return addresses === undefined ? seen : addresses.imported(seen);
    },
    local(key: string, service: LocalService): LocalService | undefined {
      if (!isThere(key)) return undefined;
      return addresses === undefined ? service : addresses.local(service);
    },
    hasPod: (key: string) => isThere(key) && addresses?.pod(nameOf(key)) !== false,
    // What a cluster says in words may name other clusters, addresses and host names.
    hasFinding: ({ namespace }: Finding) =>
      clusters === undefined && addresses === undefined && namespace !== undefined && hasNamespace(namespace),
    zone: (zone: ClusterZone) => (addresses === undefined ? zone : addresses.zone(zone)),
  };
}

/**
 * Takes away the addresses and CNAME targets that do not exist; undefined where all are visible. The entry of
 * a source cluster is no address: it stays.
 * @throws {RangeError} for a range that is none
 */
function createVisibleAddresses(visibility: Visibility) {
  const { addressSources, addressRanges, targets = addressRanges && [] } = visibility;
  if (addressSources === undefined && targets === undefined) return undefined;
  const hidesAddresses = addressSources !== undefined || addressRanges !== undefined;
  const ranges = addressRanges && parseAddressRanges(addressRanges);
  const sources = addressSources && new Set<VisibleAddressSource>(addressSources);
  const comesFrom = (source: VisibleAddressSource) => sources?.has(source) ?? true;
  const isAnywhere = (bytes: Uint8Array | undefined) =>
    bytes !== undefined && ranges!.some((range) => isInRange(bytes, range));
  const isInRanges = (text: string) => ranges === undefined || isAnywhere(parseAddress(text));
  const domains = targets?.map(canonicalDomain);
  const isTarget = (name: string) => domains === undefined || isInAny(canonicalDomain(name), domains);
  const has = (source: VisibleAddressSource) => (text: string) => comesFrom(source) && isInRanges(text);

  const groups = (all: EndpointGroups): EndpointGroups =>
    filterRecord(all, (group) => ({
      ...group,
      members: filterRecord(group.members, (one) => (has("Endpoint")(one.address) ? one : undefined)),
    }));

  return {
    exported(service: ExportedService): ExportedService {
      const { clusterIPs, loadBalancer, externalIPs, nodes, endpoints } = service;
      const isBalancer = has("LoadBalancer");
      return {
        ...service,
        clusterIPs: clusterIPs?.filter(has("ClusterIP")),
        loadBalancer: loadBalancer?.filter(({ ip, hostname = "" }) =>
          ip ? isBalancer(ip) : comesFrom("LoadBalancer") && isTarget(hostname),
        ),
        externalIPs: externalIPs?.filter(isBalancer),
        nodes: nodes && { ...nodes, addresses: nodes.addresses.filter(isBalancer) },
        endpoints: groups(endpoints),
      };
    },
    imported: (service: ImportedService): ImportedService => ({
      ...service,
      ips: service.ips.filter(has("ClusterSetIP")),
      endpoints: filterRecord(service.endpoints, groups),
    }),
    /** Undefined for an ExternalName Service whose target does not exist. */
    local: (service: LocalService): LocalService | undefined =>
      service.serviceType === "ExternalName" && !isTarget(service.externalName ?? "")
        ? undefined
        : {
            ...service,
            clusterIPs: service.clusterIPs?.filter(has("ClusterIP")),
            endpoints: groups(service.endpoints),
          },
    pod: has("Endpoint"),
    isInRanges: (address: Uint8Array) => ranges === undefined || isAnywhere(address),
    hasSources(of: readonly VisibleAddressSource[]): boolean | undefined {
      if (of.every(comesFrom)) return true;
      return of.some(comesFrom) ? undefined : false;
    },
    // Names that spell any address would have those that do not exist, too.
    zone: (zone: ClusterZone): ClusterZone =>
      zone.pods === "insecure" && hidesAddresses ? { ...zone, pods: "disabled" } : zone,
  };
}

/** Whether a name is that of a domain, or below. */
function isInAny(name: string, domains: readonly string[]): boolean {
  return domains.some((domain) => name === domain || name.endsWith(`.${domain}`));
}
