import type { Fixture } from "./fixture.ts";
import { reverseNameOf, zone } from "./questions.ts";
import { type ImportedService, type ImportedSlice, isReady, type SliceEndpoint } from "./worlds/services.ts";

/** An address of the fixture: a clusterset IP, or an endpoint's. */
export interface AddressUse {
  service: ImportedService;
  /** Whether the service has a ServiceImport in a namespace that exists. */
  isImported: boolean;
  /** Undefined for a clusterset IP. */
  from: { slice: ImportedSlice; endpoint: SliceEndpoint; address: string } | undefined;
}

/** Where a name stands in the tree of names, in whatever zone. */
export interface NamePlace {
  /** `zone` is for every name of the zone that no other word is for. */
  kind: "outside" | "reverse" | "zone" | "namespace" | "service" | "below service" | "pod" | "below pod";
  /** Labels below the zone, or all of them outside of it; in lower case, leftmost first. */
  labels: readonly string[];
  /** Labels below the service. */
  left: readonly string[];
}

/** Where a name stands in the clusterset zone. */
export interface Place extends NamePlace {
  kind: "outside" | "reverse" | "zone" | "namespace" | "service" | "below service";
  /**
   * The service with a ServiceImport in a namespace that exists that has this name, or whose name this is
   * below.
   */
  service: ImportedService | undefined;
  /** What the fixture has at the address of a reverse name. */
  uses: readonly AddressUse[];
}

/** Finds names in one fixture. */
export function placesIn(fixture: Fixture): (name: string) => Place {
  const namespaces = new Set(fixture.namespaces);
  const imports = fixture.services.filter(
    ({ namespace, spec }) => namespaces.has(namespace) && spec !== "none",
  );
  const services = new Map(imports.map((service) => [`${service.name}.${service.namespace}`, service]));
  const usesByName = groupUses(fixture.services, new Set(imports));
  return (name) => {
    const folded = name.toLowerCase();
    const nothing = { service: undefined, left: [], uses: [] };
    if (folded !== zone && !folded.endsWith(`.${zone}`)) {
      const kind = /(^|\.)(in-addr|ip6)\.arpa$/.test(folded) ? "reverse" : "outside";
      return { ...nothing, kind, labels: folded.split("."), uses: usesByName.get(folded) ?? [] };
    }
    const labels = folded === zone ? [] : folded.slice(0, -zone.length - 1).split(".");
    const [namespace, svc] = labels.slice(-2);
    if (svc !== "svc" || namespace === undefined || !namespaces.has(namespace)) {
      return { ...nothing, kind: "zone", labels };
    }
    if (labels.length === 2) return { ...nothing, kind: "namespace", labels };
    const service = services.get(`${labels.at(-3)}.${namespace}`);
    const left = labels.slice(0, -3);
    return { ...nothing, kind: left.length === 0 ? "service" : "below service", labels, service, left };
  };
}

function groupUses(
  services: readonly ImportedService[],
  imports: ReadonlySet<ImportedService>,
): Map<string, AddressUse[]> {
  const byName = new Map<string, AddressUse[]>();
  const add = (address: string, use: AddressUse) => {
    const name = reverseNameOf(address);
    if (name !== undefined) byName.set(name, [...(byName.get(name) ?? []), use]);
  };
  for (const service of services) {
    const isImported = imports.has(service);
    if (typeof service.spec === "object") {
      for (const address of service.spec.ips ?? []) add(address, { service, isImported, from: undefined });
    }
    for (const slice of service.slices) {
      for (const endpoint of slice.endpoints.filter(isReady)) {
        for (const address of endpoint.addresses) {
          add(address, { service, isImported, from: { slice, endpoint, address } });
        }
      }
    }
  }
  return byName;
}
