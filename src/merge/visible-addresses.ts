import { parseAddress } from "../dns/address.ts";
import { isInRange, parseAddressRanges } from "../dns/address-range.ts";
import type {
  ClusterZone,
  EndpointGroup,
  EndpointGroups,
  ExportedService,
  ImportedService,
  LocalService,
} from "../snapshot/schema.ts";
import { filterList, filterRecord, memoize } from "./unchanged.ts";
import type { Visibility, VisibleAddressSource } from "./visibility.ts";

/** Takes away the addresses that do not exist. What loses none stays the object that it is, what loses the same stays equal by identity. */
export interface VisibleAddresses {
  exported(service: ExportedService): ExportedService;
  imported(service: ImportedService): ImportedService;
  local(service: LocalService): LocalService;
  /** The address of a pod. */
  pod(address: string): boolean;
  zone(zone: ClusterZone): ClusterZone;
}

/**
 * The addresses that are visible; undefined where all do. That a source cluster tells of endpoints is no address: it stays.
 * @throws {RangeError} for a range that is none
 */
export function createVisibleAddresses(visibility: Visibility): VisibleAddresses | undefined {
  const { addressSources, addressRanges } = visibility;
  if (addressSources === undefined && addressRanges === undefined) return undefined;
  const ranges = addressRanges && parseAddressRanges(addressRanges);
  const sources = addressSources && new Set<VisibleAddressSource>(addressSources);
  const comesFrom = (source: VisibleAddressSource) => sources?.has(source) ?? true;
  const isInRanges = (text: string) => {
    if (ranges === undefined) return true;
    const octets = parseAddress(text);
    return octets !== undefined && ranges.some((range) => isInRange(octets, range));
  };
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
      const { clusterIPs, loadBalancer, externalIPs, endpoints } = service;
      const isBalancer = has("LoadBalancer");
      return unlessSame(service, {
        clusterIPs: clusterIPs && filterList(clusterIPs, has("ClusterIP")),
        loadBalancer:
          loadBalancer &&
          filterList(loadBalancer, ({ ip }) => (ip ? isBalancer(ip) : comesFrom("LoadBalancer"))),
        externalIPs: externalIPs && filterList(externalIPs, isBalancer),
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
      unlessSame(service, {
        clusterIPs: service.clusterIPs && filterList(service.clusterIPs, has("ClusterIP")),
        endpoints: groups(service.endpoints),
      }),
    ),
    pod: has("Endpoint"),
    // Names that spell any address would have those that do not exist, too.
    zone: memoize((zone) => (zone.pods === "insecure" ? { ...zone, pods: "disabled" } : zone)),
  };
}

/** The object with those parts, which is the object itself where it has them. */
function unlessSame<Whole extends object>(
  whole: Whole,
  parts: { [Part in keyof Whole]?: Whole[Part] | undefined },
): Whole {
  const changed = Object.entries(parts).filter(([name, part]) => whole[name as keyof Whole] !== part);
  return changed.length === 0 ? whole : { ...whole, ...Object.fromEntries(changed) };
}
