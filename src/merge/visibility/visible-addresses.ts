import { parseAddress } from "../../dns/address.ts";
import { isInRange, parseAddressRanges } from "../../dns/address-range.ts";
import type {
  ClusterZone,
  EndpointGroup,
  EndpointGroups,
  ExportedService,
  ImportedService,
  LocalService,
} from "../../snapshot/schema.ts";
import { filterList, filterRecord, memoize } from "../unchanged.ts";
import { canonicalDomain, type Visibility, type VisibleAddressSource } from "./visibility.ts";

/** Takes away the addresses and CNAME targets that do not exist. What loses none stays the object that it is, what loses the same stays equal by identity. */
export interface VisibleAddresses {
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
export function createVisibleAddresses(visibility: Visibility): VisibleAddresses | undefined {
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
