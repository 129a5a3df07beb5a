import { formatAddress, usableAddress } from "../../dns/address.ts";
import { MAX_NAME_BYTES, RecordType } from "../../dns/codes.ts";
import type { ServiceAccount } from "../../merge/account.ts";
import { ABSENT_CLUSTER, type ClustersetAddresses, type ClustersetService } from "../../merge/clusterset.ts";
import type { Contribution } from "../../merge/service/declaration.ts";
import { gatherEndpoints } from "../../merge/service/endpoints.ts";
import type { EndpointPort, ServicePort } from "../../snapshot/schema.ts";
import {
  addressLabel,
  clusterIdLabels,
  isHostLabel,
  isObjectLabel,
  portLabels,
} from "../../zone/kinds/service-labels.ts";
import { isLocalityView } from "../../zone/locality.ts";
import type { ExplainedRecord } from "../explanation.ts";

/** The zone of a question. */
export interface RecordZone {
  /** With the trailing dot. */
  readonly name: string;
  /** The length in bytes of the shortest zone of its tree: names that do not fit that are not served. */
  readonly shortestBytes: number;
}

/** A record below a service, and whose it is. */
interface Derived {
  /** The labels before the service's name; empty for the name itself. */
  readonly prefix: string;
  readonly type: number;
  /** Of an SRV record: port number and the labels of its target before the service's name. */
  readonly data: string | { readonly port: number; readonly target: string };
  readonly from: readonly string[];
}

/** The addresses that a service has in a view. @param view the name of a view; undefined for outside */
export function addressesIn(
  service: ClustersetService,
  likeOutside: readonly string[],
  view: string | undefined,
): ClustersetAddresses {
  const { byCluster, outside } = service;
  if (view === undefined || isLocalityView(view)) return outside;
  const own = byCluster.get(view);
  if (own !== undefined || likeOutside.includes(view)) return own ?? outside;
  return byCluster.get(ABSENT_CLUSTER) ?? outside;
}

/**
 * The records of one name and type, as they follow from the merged service (multicluster DNS specification 1.0.0, sections 2.3 and 2.4), each with
 * the clusters that report it.
 * @param prefix the labels before the service's name, in lower case
 */
export function recordsFrom(
  account: ServiceAccount & { readonly service: ClustersetService },
  {
    prefix,
    type,
    view,
  }: { readonly prefix: string; readonly type: number; readonly view: string | undefined },
  zone: RecordZone,
): readonly ExplainedRecord[] {
  const { service } = account;
  if (!isObjectLabel(service.name) || !isObjectLabel(service.namespace)) return [];
  const own = `${service.name}.${service.namespace}.svc.`;
  const fits = (labels: string) => nameBytes(labels, own) + zone.shortestBytes <= MAX_NAME_BYTES;
  const derived =
    service.type === "Headless" ? headlessRecords(service, fits) : clusterSetIPRecords(account, view, fits);
  const found = new Map<string, ExplainedRecord>();
  for (const record of derived) {
    if (record.type !== type || record.prefix.toLowerCase() !== prefix) continue;
    const data =
      typeof record.data === "string"
        ? record.data
        : `${record.data.port} ${below(record.data.target, own)}${zone.name}`;
    const key = data.toLowerCase();
    const before = found.get(key);
    const from = [...new Set([...(before?.from ?? []), ...record.from])].sort();
    found.set(key, { name: `${below(prefix, own)}${zone.name}`, type, data: before?.data ?? data, from });
  }
  const records = [...found.values()];
  if (type !== RecordType.SRV) return records;
  // RFC 2782: equal weights, as the gateway writes them.
  const weight = Math.max(1, Math.floor(100 / records.length));
  return records.map((record) => ({ ...record, data: `0 ${weight} ${record.data}` }));
}

/** The named ports of a service, as labels: `_http._tcp`. */
export function portPrefixes({ type, ports, endpoints }: ClustersetService): string[] {
  const all: readonly (ServicePort | EndpointPort)[] =
    type === "Headless" ? endpoints.flatMap((endpoint) => endpoint.ports) : ports;
  return [...new Set(all.flatMap((port) => portPrefix(port)?.prefix ?? []))];
}

/** The names of a headless service's endpoints, as labels: `db-0.cluster-a`. */
export function endpointPrefixes({ endpoints }: ClustersetService): string[] {
  return [
    ...new Set(
      endpoints.flatMap(({ address, hostname, clusterId }) => hostOf(address, hostname, clusterId) ?? []),
    ),
  ];
}

type Fits = (labels: string) => boolean;

function* clusterSetIPRecords(
  account: ServiceAccount & { readonly service: ClustersetService },
  view: string | undefined,
  fits: Fits,
): Generator<Derived> {
  const { service, declared, likeOutside } = account;
  const addresses = addressesIn(service, likeOutside, view);
  const reporters = addressReporters(declared?.contributions ?? [], addresses);
  let hasAddress = false;
  for (const text of addresses.addresses) {
    const bytes = usableAddress(text);
    if (bytes === undefined) continue;
    hasAddress = true;
    yield { prefix: "", ...addressRecord(bytes), from: reporters(text) };
  }
  // An SRV target must have an address (RFC 2782): in this view, or for clients outside.
  if (!hasAddress && !service.outside.addresses.some((text) => usableAddress(text) !== undefined)) return;
  for (const { port, winner } of declared?.union.united ?? []) {
    const named = portPrefix(port);
    if (named === undefined || !fits(named.prefix)) {
      if (named !== undefined) yield srv("", named.number, "", [winner]);
      continue;
    }
    yield srv("", named.number, "", [winner]);
    yield srv(named.prefix, named.number, "", [winner]);
  }
}

function* headlessRecords({ endpoints }: ClustersetService, fits: Fits): Generator<Derived> {
  for (const { address, hostname, clusterId, reportedBy, ports } of endpoints) {
    const bytes = usableAddress(address);
    if (bytes === undefined) continue;
    const from = [reportedBy];
    yield { prefix: "", ...addressRecord(bytes), from };
    const host = hostOf(address, hostname, clusterId);
    if (host === undefined || !fits(host)) continue;
    yield { prefix: host, ...addressRecord(bytes), from };
    for (const port of ports) {
      const named = portPrefix(port);
      if (named === undefined) continue;
      yield srv("", named.number, host, from);
      if (fits(named.prefix)) yield srv(named.prefix, named.number, host, from);
    }
  }
}

/** The clusters that report an address of a source. */
function addressReporters(
  contributions: readonly Contribution[],
  { source, reportedBy, reporters }: ClustersetAddresses,
): (address: string) => readonly string[] {
  if (reportedBy.length < 2) return () => reportedBy;
  if (reporters !== undefined) return (address) => reporters.get(address) ?? reportedBy;
  if (source === "Endpoint") {
    const endpoints = gatherEndpoints(contributions);
    return (address) => [
      ...new Set(endpoints.flatMap((one) => (one.address === address ? one.reportedBy : []))),
    ];
  }
  return (address) =>
    contributions.flatMap(({ clusterId, exported, imported }) => {
      const reported =
        source === "ClusterSetIP"
          ? imported?.ips
          : [...(exported?.loadBalancer ?? []).map(({ ip }) => ip), ...(exported?.externalIPs ?? [])];
      return reported?.includes(address) ? clusterId : [];
    });
}

function hostOf(address: string, hostname: string | undefined, clusterId: string): string | undefined {
  const bytes = usableAddress(address);
  const cluster = clusterIdLabels(clusterId);
  if (bytes === undefined || cluster === undefined) return undefined;
  const host = hostname !== undefined && isHostLabel(hostname) ? hostname : addressLabel(bytes);
  return [host, ...cluster].join(".");
}

function portPrefix(port: ServicePort | EndpointPort) {
  const labels = portLabels(port);
  if (labels.kind !== "named") return undefined;
  return { prefix: `${labels.portLabel}.${labels.protocolLabel}`, number: labels.number };
}

function srv(prefix: string, port: number, target: string, from: readonly string[]): Derived {
  return { prefix, type: RecordType.SRV, data: { port, target }, from };
}

function addressRecord(bytes: Uint8Array): Pick<Derived, "type" | "data"> {
  return { type: bytes.length === 4 ? RecordType.A : RecordType.AAAA, data: formatAddress(bytes) };
}

function below(prefix: string, own: string): string {
  return prefix === "" ? own : `${prefix}.${own}`;
}

/** The length of a relative name on the wire: a byte for each label's length, and its characters. */
function nameBytes(prefix: string, own: string): number {
  return prefix === "" ? own.length : prefix.length + 1 + own.length;
}
