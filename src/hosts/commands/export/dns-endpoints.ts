import { MANAGED_BY_LABEL, OWN_MANAGER } from "../../../extract/identity.ts";
import { nameOf, namespaceOf } from "../../../merge/service-key.ts";
import type { ListedRecord } from "../../../names/listing.ts";

/** An RRset in ExternalDNS's terms; names and targets have no trailing dot, which its CRD source rejects. */
export interface Endpoint {
  readonly dnsName: string;
  readonly recordType: string;
  readonly recordTTL: number;
  readonly targets: readonly string[];
}

/** ExternalDNS's custom resource (externaldns.k8s.io/v1alpha1), the input of `--source=crd`. */
export interface DnsEndpoint {
  readonly apiVersion: "externaldns.k8s.io/v1alpha1";
  readonly kind: "DNSEndpoint";
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly endpoints: readonly Endpoint[] };
}

/** The types that ExternalDNS manages by default; a federation's external zone has no others. */
const MANAGED = new Set(["A", "AAAA", "CNAME"]);
/** The most labels of a cluster id before the service's name. */
const MOST_CLUSTER_LABELS = 2;

/**
 * The records of a federation's external zone as one object for each service, named
 * `<service>.<namespace>.<federation>`: a change then affects only one small object, and a deleted service
 * removes its object.
 * @param services their keys
 */
export function describeDnsEndpoints(
  records: readonly ListedRecord[],
  federation: string,
  services: readonly string[],
): DnsEndpoint[] {
  const known = new Set(services.map((key) => `${nameOf(key)}.${namespaceOf(key)}`));
  const byService = new Map<string, Map<string, Endpoint & { targets: string[] }>>();
  for (const { name, type, ttl, rdata } of records) {
    if (!MANAGED.has(type)) continue;
    const service = serviceOf(name, federation, known);
    if (service === undefined) continue;
    const endpoints = byService.get(service) ?? new Map<string, Endpoint & { targets: string[] }>();
    byService.set(service, endpoints);
    const dnsName = withoutDot(name);
    const target = type === "CNAME" ? withoutDot(rdata) : rdata;
    const before = endpoints.get(`${dnsName} ${type}`);
    if (before !== undefined) before.targets.push(target);
    else
      endpoints.set(`${dnsName} ${type}`, { dnsName, recordType: type, recordTTL: ttl, targets: [target] });
  }
  return [...byService].map(([service, endpoints]) => ({
    apiVersion: "externaldns.k8s.io/v1alpha1",
    kind: "DNSEndpoint",
    metadata: {
      name: `${service}.${federation.toLowerCase()}`,
      labels: { [MANAGED_BY_LABEL]: OWN_MANAGER },
    },
    spec: { endpoints: [...endpoints.values()] },
  }));
}

/** `<service>.<namespace>` of a name `[<cluster>.]<service>.<namespace>.<federation>.svc.…`. */
function serviceOf(name: string, federation: string, known: ReadonlySet<string>): string | undefined {
  const labels = name.toLowerCase().split(".");
  for (let at = 0; at <= MOST_CLUSTER_LABELS; at++) {
    const service = labels.slice(at, at + 2).join(".");
    if (labels[at + 2] === federation.toLowerCase() && labels[at + 3] === "svc" && known.has(service))
      return service;
  }
  return undefined;
}

function withoutDot(name: string): string {
  return name.replace(/\.$/, "");
}
