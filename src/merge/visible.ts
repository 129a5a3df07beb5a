import { isInRange, parseAddress, parseAddressRanges } from "../dns/address.ts";
import type {
  ClusterZone,
  EndpointGroup,
  EndpointGroups,
  ExportedService,
  Finding,
  ImportedService,
  LocalService,
} from "../snapshot/schema.ts";
import { filterList, filterRecord, memoize } from "./clusterset.ts";
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
 * What is visible of the entries of a snapshot, whatever its view; undefined where everything is. An entry of
 * which everything exists is the object itself, and one entry always gives the same object. What rests on
 * hidden clusters is gone with them: their endpoints in what others import, and imports that no cluster that
 * exists exports or reports endpoints of.
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
  const visibleExport = memoize((service: ExportedService) => {
    const reached = service.clusters && filterList(service.clusters, (one) => clusters?.has(one) ?? true);
    return unlessSame(service, { clusters: reached });
  });
  const visibleImport = createImportVisibility(clusters, addresses);
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
      const seen = visibleExport(service);
      return addresses === undefined ? seen : addresses.exported(seen);
    },
    /** @param isExported whether a cluster that exists exports the service, in a namespace that it has */
    imported(key: string, service: ImportedService, isExported: () => boolean): ImportedService | undefined {
      if (!isThere(key)) return undefined;
      const seen = visibleImport(service);
      const isBacked = clusters === undefined || Object.keys(seen.endpoints).length > 0 || isExported();
      return isBacked ? seen : undefined;
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

function createImportVisibility(
  clusters: ReadonlySet<string> | undefined,
  addresses: VisibleAddresses | undefined,
): (service: ImportedService) => ImportedService {
  if (clusters === undefined) return addresses?.imported ?? ((service) => service);
  return memoize((service) => {
    const endpoints = filterRecord(service.endpoints, (groups: EndpointGroups, source) =>
      clusters.has(source.toLowerCase()) ? groups : undefined,
    );
    const own = endpoints === service.endpoints ? service : { ...service, endpoints };
    return addresses?.imported(own) ?? own;
  });
}

type VisibleAddresses = NonNullable<ReturnType<typeof createVisibleAddresses>>;

/**
 * Takes away the addresses and CNAME targets that do not exist; undefined where all are visible. What loses
 * none stays the object that it is, what loses the same stays equal by identity. The entry of a source
 * cluster is no address: it stays.
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

  const group = memoize((endpoints: EndpointGroup): EndpointGroup => {
    const members = filterRecord(endpoints.members, (one) =>
      has("Endpoint")(one.address) ? one : undefined,
    );
    return members === endpoints.members ? endpoints : { ...endpoints, members };
  });
  const groups = memoize((endpoints: EndpointGroups): EndpointGroups => filterRecord(endpoints, group));

  return {
    exported: memoize((service: ExportedService) => {
      const { clusterIPs, loadBalancer, externalIPs, nodes, endpoints } = service;
      const isBalancer = has("LoadBalancer");
      return unlessSame(service, {
        clusterIPs: clusterIPs && filterList(clusterIPs, has("ClusterIP")),
        loadBalancer:
          loadBalancer &&
          filterList(loadBalancer, ({ ip, hostname = "" }) =>
            ip ? isBalancer(ip) : comesFrom("LoadBalancer") && isTarget(hostname),
          ),
        externalIPs: externalIPs && filterList(externalIPs, isBalancer),
        nodes: nodes && unlessSame(nodes, { addresses: filterList(nodes.addresses, isBalancer) }),
        endpoints: groups(endpoints),
      });
    }),
    imported: memoize((service: ImportedService) =>
      unlessSame(service, {
        ips: filterList(service.ips, has("ClusterSetIP")),
        endpoints: filterRecord(service.endpoints, groups),
      }),
    ),
    /** Undefined for an ExternalName Service whose target does not exist. */
    local: memoize((service: LocalService) =>
      service.serviceType === "ExternalName" && !isTarget(service.externalName ?? "")
        ? undefined
        : unlessSame(service, {
            clusterIPs: service.clusterIPs && filterList(service.clusterIPs, has("ClusterIP")),
            endpoints: groups(service.endpoints),
          }),
    ),
    pod: has("Endpoint"),
    isInRanges: (address: Uint8Array) => ranges === undefined || isAnywhere(address),
    hasSources(of: readonly VisibleAddressSource[]): boolean | undefined {
      if (of.every(comesFrom)) return true;
      return of.some(comesFrom) ? undefined : false;
    },
    // Names that spell any address would have those that do not exist, too.
    zone: memoize(
      (zone: ClusterZone): ClusterZone =>
        zone.pods === "insecure" && hidesAddresses ? { ...zone, pods: "disabled" } : zone,
    ),
  };
}

/** Whether a name is that of a domain, or below. */
function isInAny(name: string, domains: readonly string[]): boolean {
  return domains.some((domain) => name === domain || name.endsWith(`.${domain}`));
}

/** The object with those parts, which is the object itself where it has them. */
function unlessSame<Whole extends object>(
  whole: Whole,
  parts: { [Part in keyof Whole]?: Whole[Part] | undefined },
): Whole {
  const changed = Object.entries(parts).filter(([name, part]) => whole[name as keyof Whole] !== part);
  return changed.length === 0 ? whole : { ...whole, ...Object.fromEntries(changed) };
}
