import { formatAddress, usableAddress } from "../dns/address.ts";
import { canonicalName, RecordType } from "../dns/name.ts";
import type { Steps } from "../dns/steps.ts";
import type { ServiceAccount } from "../merge/account.ts";
import {
  ABSENT_CLUSTER,
  type ClusterFinding,
  type ClustersetAddresses,
  type ClustersetEndpoint,
  type ClustersetService,
} from "../merge/clusterset.ts";
import { PROPERTIES } from "../merge/conflicts.ts";
import { type AdjustedTime, type Contribution, inSeconds } from "../merge/declaration.ts";
import { describePort, gatherEndpoints } from "../merge/endpoints.ts";
import { PINNED } from "../merge/grants.ts";
import type { DeclaredService } from "../merge/service.ts";
import type { Accounts } from "../names/services.ts";
import { type EndpointPort, type ServicePort, UNDATED } from "../snapshot/schema.ts";
import { portsIn } from "../zone/kinds/clusterset.ts";
import { addressLabel, clusterIdLabels, isHostLabel, portLabels } from "../zone/kinds/endpoint-records.ts";
import { CLUSTERSET_TREE } from "../zone/name-tree.ts";
import { isLocalityView } from "../zone/world.ts";
import {
  type ExplainedRecord,
  type ExplainedService,
  notServed,
  type ServedName,
  type Verdict,
  verdict,
} from "./explanation.ts";
import { type KnownNames, nearPrefixes, nearServices, servicesIn } from "./near.ts";
import type { AnsweredQuestion, NamedService, Subject } from "./question.ts";

/** What a verdict rests on. */
export interface Facts {
  readonly question: AnsweredQuestion;
  /** Undefined for reverse names. */
  readonly subject: Subject | undefined;
  /** Undefined for names of no service, and on hosts that do not merge. */
  readonly account: ServiceAccount | undefined;
  /** Those of the service. */
  readonly findings: readonly ClusterFinding[];
  readonly known: KnownNames;
  /** Whether the service is too large to be explained. */
  readonly isTooLarge: boolean;
  readonly served: ServedName | "missing" | undefined;
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

/** How a service comes about, and what there is to say of it. */
interface ExplainedAccount {
  /** Undefined for a service that is too large; `omitted` says so. */
  readonly account?: ServiceAccount;
  readonly findings?: readonly ClusterFinding[];
  readonly omitted: readonly string[];
}

/**
 * Characters of what clusters report of a service that is explained record by record: some 5,000 endpoints.
 * One with 9,000 took 236 ms on a busy machine.
 */
const MOST_CHARACTERS = 512 * 1024;
const TOO_LARGE = {
  omitted: ["Clusters report more than 512 KiB of the service: it is not explained record by record."],
};

function* accountOf(accounts: Accounts, key: string, view: string | undefined): Steps<ExplainedAccount> {
  // Its size would tell that a service exists which the view lacks.
  if (accounts.has(key, view) && accounts.world.entries.charactersOf(key) > MOST_CHARACTERS) return TOO_LARGE;
  const account = accounts.of(key, view);
  yield;
  return { account, findings: yield* accounts.findingsOf(key, view), omitted: [] };
}

/** The types that a service's names have. */
const SERVICE_TYPES: ReadonlySet<number> = new Set([RecordType.A, RecordType.AAAA, RecordType.SRV]);

/** Returns the clusters that report a record of an answer; undefined where that is not known. */
type ReportersOf = (record: Pick<ExplainedRecord, "type" | "data">) => readonly string[] | undefined;

/**
 * Which clusters report the records of a name in the clusterset zone; undefined for other names.
 * @param type of the question
 */
function reportersOf(
  account: ServiceAccount,
  { key, service, zone }: Subject,
  type: number,
  view: string | undefined,
): ReportersOf | undefined {
  if (service === undefined || key !== CLUSTERSET_TREE || !SERVICE_TYPES.has(type)) return undefined;
  const own = `${service.name}.${service.namespace}.svc.${zone.name}`;
  const reported = reportedRecords(account, service.below.join("."), own, view);
  const byData = Map.groupBy(reported, ([data]) => data.toLowerCase());
  return (record) => {
    const data = record.type === RecordType.SRV ? record.data.replace(/^\d+ \d+ /, "") : record.data;
    const reports = byData.get(data.toLowerCase());
    return reports && [...new Set(reports.map(([, clusterId]) => clusterId))].sort();
  };
}

/** A record's data, without the priority and weight of an SRV record, and a cluster that reports it. */
type Reported = readonly [data: string, clusterId: string];

/**
 * What clusters report for a name (multicluster DNS specification 1.0.0, sections 2.3 and 2.4). That may be
 * more than the name has.
 * @param prefix the labels before the service's name, in lower case @param own the service's name
 */
function* reportedRecords(
  { service, declared, likeOutside }: ServiceAccount,
  prefix: string,
  own: string,
  view: string | undefined,
): Generator<Reported> {
  if (service === undefined) return;
  const isHere = (port: ServicePort | EndpointPort) => {
    const labels = portPrefix(port);
    return labels !== undefined && (prefix === "" || prefix === labels);
  };
  for (const endpoint of service.endpoints) {
    const { address, reportedBy, ports } = endpoint;
    const host = hostOf(endpoint);
    if (prefix === "" || prefix === host?.toLowerCase()) yield [dataOf(address), reportedBy];
    if (host === undefined) continue;
    for (const port of ports.filter(isHere)) yield [`${port.port} ${host}.${own}`, reportedBy];
  }
  if (service.type === "Headless") return;
  const addresses = addressesIn(service, likeOutside, view);
  for (const [address, clusterId] of reportedAddresses(service, declared, addresses))
    yield [dataOf(address), clusterId];
  if (addresses.hostname !== undefined)
    for (const clusterId of addresses.reportedBy) yield [canonicalName(addresses.hostname), clusterId];
  for (const { port, winner } of declared?.union.united ?? [])
    for (const listening of portsIn({ ports: [port] }, addresses).filter(isHere))
      yield [`${listening.port} ${own}`, winner];
}

function dataOf(address: string): string {
  const bytes = usableAddress(address);
  return bytes === undefined ? address : formatAddress(bytes);
}

/** The addresses of a source, each with a cluster that reports it. */
function* reportedAddresses(
  { shards }: ClustersetService,
  declared: DeclaredService | undefined,
  { source, addresses, reportedBy, reporters }: ClustersetAddresses,
): Generator<Reported> {
  if (source === "Endpoint")
    for (const one of gatherEndpoints(declared?.contributions ?? [])) yield [one.address, one.reportedBy];
  else if (source === "LoadBalancer")
    for (const { clusterId, externalAddresses } of shards)
      for (const address of reportedBy.includes(clusterId) ? externalAddresses : [])
        yield [address, clusterId];
  else
    for (const address of addresses)
      for (const clusterId of reporters?.get(address) ?? reportedBy) yield [address, clusterId];
}

/** The named ports of a service, as labels: `_http._tcp`. */
function portPrefixes({ type, ports, endpoints }: ClustersetService): string[] {
  const all = type === "Headless" ? endpoints.flatMap((endpoint) => endpoint.ports) : ports;
  return [...new Set(all.flatMap((port) => portPrefix(port) ?? []))];
}

/** The names of a headless service's endpoints, as labels: `db-0.cluster-a`. */
function endpointPrefixes({ endpoints }: ClustersetService): string[] {
  return [...new Set(endpoints.flatMap((endpoint) => hostOf(endpoint) ?? []))];
}

function hostOf({ address, hostname, clusterId }: ClustersetEndpoint): string | undefined {
  const bytes = usableAddress(address);
  const cluster = clusterIdLabels(clusterId);
  if (bytes === undefined || cluster === undefined) return undefined;
  const host = hostname !== undefined && isHostLabel(hostname) ? hostname : addressLabel(bytes);
  return [host, ...cluster].join(".");
}

function portPrefix(port: ServicePort | EndpointPort): string | undefined {
  const labels = portLabels(port);
  return labels.kind === "named" ? `${labels.portLabel}.${labels.protocolLabel}` : undefined;
}

const ADJUSTED: Readonly<Record<NonNullable<AdjustedTime["because"]>, string>> = {
  impossible: "the stated time is before any ServiceExport could be",
  future: "the stated time was in the future",
  unseen: "the gateway did not see the export appear at the stated time",
};

/** The longest value that is shown, in UTF-16 code units: annotations may hold 256 KiB. */
const MOST_VALUE = 256;

/**
 * A service, who decides which of its properties, and why.
 * @param view the name of a view; undefined for outside
 */
function explainService(
  { service, parts, declared, likeOutside }: ServiceAccount,
  view: string | undefined,
): ExplainedService | undefined {
  if (service === undefined) return undefined;
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
}: Contribution): Omit<ExplainedService["exporters"][number], "endpoints"> {
  const stated = exported === undefined || exported.exportedAt === UNDATED ? "" : exported.exportedAt;
  const facts = { clusterId, stated, exportedTo: exported?.clusters };
  if (adjusted === undefined) return facts;
  const because = adjusted.because === undefined ? "the clocks differ a little" : ADJUSTED[adjusted.because];
  return { ...facts, countsFrom: inSeconds(adjusted.counts), because };
}

function explainProperties(
  { declarations, union, isExported, contributions }: DeclaredService,
  partOf: ReadonlyMap<string, Contribution>,
): ExplainedService["properties"] {
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
  const properties: ExplainedService["properties"][number][] = [];
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

/** The verdict on a name of a service that is not served. */
function judgeMissing(facts: Facts, service: NamedService, accounts: Accounts): Verdict {
  const { subject, account, findings, known } = facts;
  const { namespace, name, below } = service;
  const zone = subject!.zone.name;
  const near = () => nearServices(service, zone, known);
  const having = accounts.clustersWith(namespace);
  if (having.length === 0)
    return verdict("NO_NAMESPACE", `No live cluster has the namespace ${namespace}.`, near());
  if (accounts.isLacking(known.view, namespace))
    return verdict(
      "NAMESPACE_NOT_IN_VIEW",
      `The cluster of this view (${known.frame.viewName(known.view)}) does not have the namespace ${namespace}.`,
    );
  if (facts.isTooLarge) return notServed(service);
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
  const where = having.slice(0, 10).join(", ");
  const view = facts.known.frame.viewName(facts.known.view);
  const to = view === undefined || isLocalityView(view) || view === ABSENT_CLUSTER ? "" : ` to ${view}`;
  return verdict(
    "NOT_EXPORTED",
    `The namespace ${namespace} exists (${where}), but no cluster exports a service ${name} in it${to}.`,
    near(),
  );
}

function leftOut(findings: readonly ClusterFinding[]): Verdict {
  const [first] = findings;
  const reason = first === undefined ? "" : ` ${first.reason} in ${first.clusterId}: ${first.message}.`;
  return verdict("LEFT_OUT", `A cluster reports the service, but it is not served.${reason}`);
}

/**
 * What explanations say of merged services, by the functions that merge them. Hosts that merge give it to the
 * explanation, so that it does not reach those that only have compiled zones: a Worker's bundle is 3 KB
 * smaller, compressed, without it.
 */
export const SERVICE_EXPLAINER = { accountOf, explainService, reportersOf, judgeMissing, servicesIn };
export type ServiceExplainer = typeof SERVICE_EXPLAINER;
