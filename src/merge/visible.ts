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

/**
 * What exists of the entries of a snapshot, one by one. An entry of which everything exists is the object itself, and one entry always gives
 * the same object. What rests on hidden clusters is gone with them: their endpoints in what others import, and imports that no cluster that
 * exists exports or reports endpoints of.
 */
export interface EntryFilter {
  /** Whether all clusters and namespaces exist, so that every export and import does. */
  readonly hidesNoService: boolean;
  /** Whether some addresses of a service that exists do not. */
  readonly hidesAddresses: boolean;
  /** Whether an import may not exist in a namespace that does. */
  readonly hidesImports: boolean;
  hasCluster(clusterId: string): boolean;
  hasNamespace(namespace: string): boolean;
  exported(key: string, service: ExportedService): ExportedService | undefined;
  /** @param isExported whether a cluster that exists exports the service, in a namespace that it has */
  imported(key: string, service: ImportedService, isExported: () => boolean): ImportedService | undefined;
  local(key: string, service: LocalService): LocalService | undefined;
  hasPod(key: string): boolean;
  hasFinding(finding: Finding): boolean;
  zone(zone: ClusterZone): ClusterZone;
}

/**
 * What is visible, whatever its view; undefined where everything is.
 * @throws {RangeError} for a visibility that contradicts itself, or has a range that is none
 */
export function createEntryFilter(visibility: Visibility): EntryFilter | undefined {
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
    hidesNoService: clusters === undefined && namespaces === undefined,
    hidesAddresses: addresses !== undefined,
    hidesImports: clusters !== undefined,
    hasCluster: (clusterId) => clusters?.has(clusterId) ?? true,
    hasNamespace,
    exported(key, service) {
      if (!isThere(key)) return undefined;
      const seen = visibleExport(service);
      return addresses === undefined ? seen : addresses.exported(seen);
    },
    imported(key, service, isExported) {
      if (!isThere(key)) return undefined;
      const seen = visibleImport(service);
      const isBacked = clusters === undefined || Object.keys(seen.endpoints).length > 0 || isExported();
      return isBacked ? seen : undefined;
    },
    local(key, service) {
      if (!isThere(key)) return undefined;
      return addresses === undefined ? service : addresses.local(service);
    },
    hasPod: (key) => isThere(key) && addresses?.pod(nameOf(key)) !== false,
    // What a cluster says in words may name other clusters, addresses and host names.
    hasFinding: ({ namespace }) =>
      clusters === undefined && addresses === undefined && namespace !== undefined && hasNamespace(namespace),
    zone: (zone) => (addresses === undefined ? zone : addresses.zone(zone)),
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

/** Takes away the addresses and CNAME targets that do not exist. What loses none stays the object that it is, what loses the same stays equal by identity. */
interface VisibleAddresses {
  exported(service: ExportedService): ExportedService;
  imported(service: ImportedService): ImportedService;
  /** Undefined for an ExternalName Service whose target does not exist. */
  local(service: LocalService): LocalService | undefined;
  /** The address of a pod. */
  pod(address: string): boolean;
  zone(zone: ClusterZone): ClusterZone;
}

/**
 * The addresses and CNAME targets that are visible; undefined where all are. The entry of a source cluster is no address: it stays.
 * @throws {RangeError} for a range that is none
 */
function createVisibleAddresses(visibility: Visibility): VisibleAddresses | undefined {
  const { addressSources, addressRanges, targets = addressRanges && [] } = visibility;
  if (addressSources === undefined && targets === undefined) return undefined;
  const hidesAddresses = addressSources !== undefined || addressRanges !== undefined;
  const ranges = addressRanges && parseAddressRanges(addressRanges);
  const sources = addressSources && new Set<VisibleAddressSource>(addressSources);
  const comesFrom = (source: VisibleAddressSource) => sources?.has(source) ?? true;
  const isInRanges = (text: string) => {
    if (ranges === undefined) return true;
    const bytes = parseAddress(text);
    return bytes !== undefined && ranges.some((range) => isInRange(bytes, range));
  };
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
    exported: memoize((service) => {
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
    imported: memoize((service) =>
      unlessSame(service, {
        ips: filterList(service.ips, has("ClusterSetIP")),
        endpoints: filterRecord(service.endpoints, groups),
      }),
    ),
    local: memoize((service) =>
      service.serviceType === "ExternalName" && !isTarget(service.externalName ?? "")
        ? undefined
        : unlessSame(service, {
            clusterIPs: service.clusterIPs && filterList(service.clusterIPs, has("ClusterIP")),
            endpoints: groups(service.endpoints),
          }),
    ),
    pod: has("Endpoint"),
    // Names that spell any address would have those that do not exist, too.
    zone: memoize((zone) =>
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
