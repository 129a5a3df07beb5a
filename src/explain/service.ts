import { formatAddress, usableAddress } from "../dns/address.ts";
import { canonicalName, MAX_NAME_BYTES, RecordType } from "../dns/name.ts";
import type { ServiceAccount } from "../merge/account.ts";
import {
  ABSENT_CLUSTER,
  type ClusterFinding,
  type ClustersetAddresses,
  type ClustersetService,
} from "../merge/clusterset.ts";
import { PROPERTIES } from "../merge/conflicts.ts";
import { type AdjustedTime, type Contribution, inSeconds } from "../merge/declaration.ts";
import { describePort, gatherEndpoints } from "../merge/endpoints.ts";
import { PINNED } from "../merge/grants.ts";
import type { DeclaredService } from "../merge/service.ts";
import { type EndpointPort, type ServicePort, UNDATED } from "../snapshot/schema.ts";
import { isLocalityView } from "../zone/frame.ts";
import { portsIn } from "../zone/kinds/clusterset.ts";
import {
  addressLabel,
  clusterIdLabels,
  isHostLabel,
  isObjectLabel,
  portLabels,
} from "../zone/kinds/endpoint-records.ts";
import { srvWeight } from "../zone/record-block.ts";
import type {
  ExplainedExporter,
  ExplainedProperty,
  ExplainedRecord,
  ExplainedService,
  Suggestion,
} from "./explanation.ts";
import { type Facts, type Verdict, verdict } from "./facts.ts";
import { type KnownNames, nearPrefixes, nearServices, servicesIn } from "./near.ts";
import type { NamedService } from "./question.ts";

/** The zone of a question. */
interface RecordZone {
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
function recordsFrom(
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
    // A CNAME record answers queries of every type (RFC 1034 section 3.6.2).
    if (record.type !== type && record.type !== RecordType.CNAME) continue;
    if (record.prefix.toLowerCase() !== prefix) continue;
    const data =
      typeof record.data === "string"
        ? record.data
        : `${record.data.port} ${below(record.data.target, own)}${zone.name}`;
    const key = data.toLowerCase();
    const before = found.get(key);
    const from = [...new Set([...(before?.from ?? []), ...record.from])].sort();
    const name = `${below(prefix, own)}${zone.name}`;
    found.set(key, { name, type: record.type, data: before?.data ?? data, from });
  }
  const records = [...found.values()];
  if (type !== RecordType.SRV) return records;
  const weight = srvWeight(records.length);
  return records.map((record) =>
    record.type === RecordType.SRV ? { ...record, data: `0 ${weight} ${record.data}` } : record,
  );
}

/** The named ports of a service, as labels: `_http._tcp`. */
function portPrefixes({ type, ports, endpoints }: ClustersetService): string[] {
  const all: readonly (ServicePort | EndpointPort)[] =
    type === "Headless" ? endpoints.flatMap((endpoint) => endpoint.ports) : ports;
  return [...new Set(all.flatMap((port) => portPrefix(port)?.prefix ?? []))];
}

/** The names of a headless service's endpoints, as labels: `db-0.cluster-a`. */
function endpointPrefixes({ endpoints }: ClustersetService): string[] {
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
  for (const text of addresses.addresses) {
    const bytes = usableAddress(text);
    if (bytes !== undefined) yield { prefix: "", ...addressRecord(bytes), from: reporters(text) };
  }
  if (addresses.hostname !== undefined)
    yield {
      prefix: "",
      type: RecordType.CNAME,
      data: canonicalName(addresses.hostname),
      from: addresses.reportedBy,
    };
  // An SRV target must have an address (RFC 2782): in this view, or for clients outside.
  const deciding = hasAny(addresses) ? addresses : service.outside;
  if (!hasAny(deciding) || deciding.hostname !== undefined) return;
  for (const { port, winner } of declared?.union.united ?? [])
    for (const listening of portsIn({ ports: [port] }, deciding)) {
      const named = portPrefix(listening);
      if (named === undefined) continue;
      yield srv("", named.number, "", [winner]);
      if (fits(named.prefix)) yield srv(named.prefix, named.number, "", [winner]);
    }
}

function hasAny({ addresses, hostname }: ClustersetAddresses): boolean {
  return hostname !== undefined || addresses.some((text) => usableAddress(text) !== undefined);
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

const ADJUSTED: Readonly<Record<NonNullable<AdjustedTime["because"]>, string>> = {
  impossible: "the stated time is before any ServiceExport could be",
  future: "the stated time was in the future",
  unseen: "the gateway did not see the export appear at the stated time",
};

/** The longest value that is shown, in UTF-16 code units: annotations may hold 256 KiB. */
const MOST_VALUE = 256;

/** A service, who decides which of its properties, and why. @param view the name of a view; undefined for outside */
function explainService(
  service: ClustersetService,
  { parts, declared, likeOutside }: ServiceAccount,
  view: string | undefined,
): ExplainedService {
  const { namespace, name, type, exporters } = service;
  const partOf = new Map(parts.map((part) => [part.clusterId, part]));
  const endpoints = new Map<string, number>();
  for (const { clusterId } of gatherEndpoints(declared?.contributions ?? []))
    endpoints.set(clusterId, (endpoints.get(clusterId) ?? 0) + 1);
  return {
    namespace,
    name,
    type,
    exporters: exporters.map((clusterId) => ({
      ...explainExporter(partOf.get(clusterId)!),
      endpoints: endpoints.get(clusterId) ?? 0,
    })),
    importers: parts.flatMap(({ clusterId, imported }) => (imported === undefined ? [] : clusterId)),
    properties: declared === undefined ? [] : explainProperties(declared, partOf),
    addresses: describeAddresses(service, likeOutside, view),
  };
}

function explainExporter({
  clusterId,
  exported,
  adjusted,
}: Contribution): Omit<ExplainedExporter, "endpoints"> {
  const stated = exported === undefined || exported.exportedAt === UNDATED ? "" : exported.exportedAt;
  if (adjusted === undefined) return { clusterId, stated };
  const because = adjusted.because === undefined ? "the clocks differ a little" : ADJUSTED[adjusted.because];
  return { clusterId, stated, countsFrom: inSeconds(adjusted.counts), because };
}

function explainProperties(
  { declarations, union, isExported, contributions }: DeclaredService,
  partOf: ReadonlyMap<string, Contribution>,
): ExplainedProperty[] {
  const winner = declarations[0]!;
  const isPinned = contributions.some(
    ({ clusterId, adjusted }) => clusterId === winner.clusterId && adjusted === PINNED,
  );
  const reason = (): string => {
    if (isPinned) return "the setting services names it as the owner";
    if (declarations.length === 1)
      return `it has the only ${isExported ? "ServiceExport" : "ServiceImport that counts"}`;
    if (!isExported) return "no cluster exports the service, and its ServiceImport was seen first";
    const first = explainExporter(partOf.get(winner.clusterId)!);
    return `it has the oldest ServiceExport, since ${first.countsFrom ?? first.stated}`;
  };
  const because = reason();
  const properties: ExplainedProperty[] = [];
  for (const { property, valueOf: read } of PROPERTIES) {
    const value = read(winner);
    if (value === undefined || value === "") continue;
    const otherwise = declarations.flatMap((other) => {
      const theirs = read(other) ?? value;
      return theirs === value ? [] : { clusterId: other.clusterId, value: shown(theirs) };
    });
    properties.push({ property, value: shown(value), decidedBy: winner.clusterId, because, otherwise });
  }
  for (const { port, winner: decidedBy, setAside } of union.united) {
    const isFirst = decidedBy === winner.clusterId;
    properties.push({
      property: "port",
      value: describePort(port),
      decidedBy,
      because: isFirst
        ? because
        : "ports are united, and clusters before it define no port of this name or number",
      otherwise: setAside.map((clusterId) => ({ clusterId, value: "another port of this name or number" })),
    });
  }
  return properties;
}

function describeAddresses(
  service: ClustersetService,
  likeOutside: readonly string[],
  view: string | undefined,
): string {
  if (service.type === "Headless") return "the ready endpoints of every exporting cluster";
  const { source, reportedBy, hostname } = addressesIn(service, likeOutside, view);
  const of = reportedBy.length === 0 ? "" : ` of ${reportedBy.join(", ")}`;
  switch (source) {
    case "ClusterSetIP":
      return `spec.ips of the ServiceImport${of}`;
    case "LoadBalancer":
      return hostname === undefined
        ? `load balancers and external IPs${of}`
        : `the host name of a load balancer that has no address${of}`;
    case "Endpoint":
      return `ready endpoints reported by ${reportedBy.join(", ")}`;
    default:
      return "none: no cluster reports an address that this view may use";
  }
}

function shown(value: string): string {
  return (value.length > MOST_VALUE ? `${value.slice(0, MOST_VALUE - 1)}…` : value).toWellFormed();
}

/**
 * The verdict on a name below a namespace that the view has, where no such name is served.
 * @param having the clusters that have the namespace @param near services with a similar name
 */
export function judgeMissing(
  facts: Facts,
  service: NamedService,
  having: readonly string[],
  near: () => Suggestion[],
): Verdict {
  const { subject, account, findings } = facts;
  const { namespace, name, below } = service;
  const zone = subject!.zone.name;
  const merged = account?.service;
  if (merged !== undefined) {
    const own = `${name}.${namespace}.svc.${zone}`;
    if (merged.type === "Headless" && merged.endpoints.length === 0)
      return verdict(
        "NO_READY_ENDPOINT",
        "The service is headless and has no ready endpoint: until then it has no names.",
      );
    if (below.length === 0) return leftOut(findings);
    const prefix = below.join(".");
    return below[0]!.startsWith("_")
      ? verdict(
          "NO_SUCH_PORT",
          `The service has no port ${prefix}.`,
          nearPrefixes(prefix, portPrefixes(merged), own, "a port"),
        )
      : verdict(
          "NO_SUCH_ENDPOINT",
          `The service has no endpoint ${prefix}.`,
          nearPrefixes(prefix, endpointPrefixes(merged), own, "an endpoint"),
        );
  }
  if ((account?.parts.length ?? 0) > 0 || findings.length > 0) return leftOut(findings);
  const where = having.length === 0 ? "" : ` (${having.slice(0, 10).join(", ")})`;
  return verdict(
    "NOT_EXPORTED",
    `The namespace ${namespace} exists${where}, but no cluster exports a service ${name} in it.`,
    near(),
  );
}

function leftOut(findings: readonly ClusterFinding[]): Verdict {
  const [first] = findings;
  const reason = first === undefined ? "" : ` ${first.reason} in ${first.clusterId}: ${first.message}.`;
  return verdict("LEFT_OUT", `A cluster reports the service, but it is not served.${reason}`);
}

/** Explains services by the functions that merge them. */
export const SERVICE_EXPLAINER: ServiceExplainer = {
  explainService,
  recordsFrom,
  judgeMissing,
  nearServices,
  servicesIn,
};

/**
 * What explanations say of merged services. Hosts that merge give it to the explanation (`SERVICE_EXPLAINER`), so that it does not reach those
 * that only have compiled zones: a Worker's bundle is 3 KB smaller, compressed, without it.
 */
export interface ServiceExplainer {
  /** @param view the name of a view; undefined for outside */
  explainService(
    service: ClustersetService,
    account: ServiceAccount,
    view: string | undefined,
  ): ExplainedService;
  recordsFrom(
    account: ServiceAccount & { readonly service: ClustersetService },
    question: { readonly prefix: string; readonly type: number; readonly view: string | undefined },
    zone: RecordZone,
  ): readonly ExplainedRecord[];
  /** The verdict on a name below a namespace that the view has, where no such name is served. @param having the clusters that have the namespace */
  judgeMissing(
    facts: Facts,
    service: NamedService,
    having: readonly string[],
    near: () => Suggestion[],
  ): Verdict;
  /** Services with a similar name. @param zone with the trailing dot */
  nearServices(service: NamedService, zone: string, known: KnownNames): Suggestion[];
  /** Some services of a namespace. */
  servicesIn(namespace: string, known: KnownNames): Suggestion[];
}
