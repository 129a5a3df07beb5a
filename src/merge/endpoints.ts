import type { EndpointGroups, ServicePort } from "../snapshot/schema.ts";
import type { ClustersetEndpoint } from "./clusterset.ts";
import type { Contribution, Declaration } from "./declaration.ts";
import { compareText } from "./order.ts";

interface Candidate {
  readonly endpoint: ClustersetEndpoint;
  /** The source cluster in lower case: DNS knows no other case (RFC 4343). */
  readonly source: string;
  readonly portSet: string;
}

/**
 * Every endpoint of a service that may be answered with, whatever the type of the cluster's own Service: a
 * ClusterIP exporter's pods are backends of a headless service, and the reverse (KEP-1645, Service Types). A
 * cluster that exports the service speaks for its own endpoints; for the other source clusters the importers
 * speak. An endpoint that several clusters report is one endpoint, reported by the source cluster itself if
 * it is among them. Sorted by source cluster, address, hostname, ports.
 */
export function gatherEndpoints(contributions: readonly Contribution[]): ClustersetEndpoint[] {
  const candidates: Candidate[] = [];
  const exporters = new Set<string>();
  for (const { clusterId, exported } of contributions) {
    if (exported === undefined) continue;
    exporters.add(clusterId);
    const evenIfNotReady = exported.publishNotReadyAddresses === true;
    collect(candidates, exported.endpoints, clusterId, clusterId, evenIfNotReady);
  }
  for (const { clusterId, imported } of contributions) {
    if (imported === undefined) continue;
    for (const [source, groups] of Object.entries(imported.endpoints))
      if (!exporters.has(source.toLowerCase())) collect(candidates, groups, source, clusterId, false);
  }
  candidates.sort(
    (left, right) =>
      compareIdentity(left, right) || compareReporter(left, right) || compareSpelling(left, right),
  );
  const endpoints: ClustersetEndpoint[] = [];
  let previous: Candidate | undefined;
  for (const candidate of candidates) {
    if (previous !== undefined && compareIdentity(previous, candidate) === 0) continue;
    endpoints.push(candidate.endpoint);
    previous = candidate;
  }
  return endpoints;
}

function collect(
  candidates: Candidate[],
  groups: EndpointGroups,
  clusterId: string,
  reportedBy: string,
  evenIfNotReady: boolean,
): void {
  const source = clusterId.toLowerCase();
  for (const portSet of Object.keys(groups)) {
    const { ports, members } = groups[portSet]!;
    for (const name of Object.keys(members)) {
      const member = members[name]!;
      if (member.ready === false && !evenIfNotReady) continue;
      const endpoint: ClustersetEndpoint = {
        clusterId,
        reportedBy,
        address: member.address,
        ...(member.hostname ? { hostname: member.hostname } : {}),
        ...(member.zone ? { zone: member.zone } : {}),
        ports,
      };
      candidates.push({ endpoint, source, portSet });
    }
  }
}

function compareIdentity(left: Candidate, right: Candidate): number {
  return (
    compareText(left.source, right.source) ||
    compareText(left.endpoint.address, right.endpoint.address) ||
    compareText(left.endpoint.hostname ?? "", right.endpoint.hostname ?? "") ||
    compareText(left.portSet, right.portSet)
  );
}

function compareReporter({ source, endpoint: left }: Candidate, { endpoint: right }: Candidate): number {
  if (left.reportedBy === right.reportedBy) return 0;
  if (left.reportedBy === source) return -1;
  if (right.reportedBy === source) return 1;
  return compareText(left.reportedBy, right.reportedBy);
}

/** One importer may hold two spellings of a source cluster's id, and two zones for one address. */
function compareSpelling({ endpoint: left }: Candidate, { endpoint: right }: Candidate): number {
  return compareText(left.clusterId, right.clusterId) || compareText(left.zone ?? "", right.zone ?? "");
}

/** A port of the union, with the cluster whose definition is used. */
interface UnitedPort {
  readonly port: ServicePort;
  readonly winner: string;
  /** Clusters that define a port of this name or of this protocol and number otherwise. */
  readonly setAside: readonly string[];
}

/** The ports of all declarations taken together. */
export interface PortUnion {
  readonly united: readonly UnitedPort[];
  /** Clusters that lack a port of the first declaration, or add one to it. */
  readonly differing: readonly string[];
  /** Ports that break the two rules within their own object, where no other cluster is to blame. */
  readonly duplicates: readonly { readonly clusterId: string; readonly port: ServicePort }[];
}

/**
 * The union of the declared ports, merged first by name, then by protocol and number, so that no name
 * (the empty one included) and no protocol with number occurs twice; earlier declarations win
 * (KEP-1645, Service Port).
 */
export function unitePorts(declarations: readonly Declaration[]): PortUnion {
  const united: { port: ServicePort; winner: string; setAside: string[] }[] = [];
  const byName = new Map<string, number>();
  const byNumber = new Map<string, number>();
  const covered: Set<number>[] = [];
  const duplicates: { clusterId: string; port: ServicePort }[] = [];
  for (const { clusterId, ports } of declarations) {
    const covers = new Set<number>();
    covered.push(covers);
    for (const port of ports) {
      const number = `${port.port}/${port.protocol}`;
      const index = byName.get(port.name) ?? byNumber.get(number);
      if (index === undefined) {
        byName.set(port.name, united.length);
        byNumber.set(number, united.length);
        covers.add(united.length);
        united.push({ port, winner: clusterId, setAside: [] });
        continue;
      }
      covers.add(index);
      const standing = united[index]!;
      if (samePort(standing.port, port)) continue;
      if (standing.winner === clusterId) duplicates.push({ clusterId, port });
      else if (standing.setAside.at(-1) !== clusterId) standing.setAside.push(clusterId);
    }
  }
  const differing = declarations
    .filter((_, index) => !sameMembers(covered[index]!, covered[0]!))
    .map(({ clusterId }) => clusterId);
  return { united, differing, duplicates };
}

/** A port as conflicts name it: `http:80/TCP`, with `appProtocol` behind it where there is one. */
export function describePort({ name, port, protocol, appProtocol }: ServicePort): string {
  return `${name === "" ? "" : `${name}:`}${port}/${protocol}${appProtocol ? ` appProtocol=${appProtocol}` : ""}`;
}

function samePort(left: ServicePort, right: ServicePort): boolean {
  return (
    left.name === right.name &&
    left.port === right.port &&
    left.protocol === right.protocol &&
    (left.appProtocol ?? "") === (right.appProtocol ?? "")
  );
}

function sameMembers(left: ReadonlySet<number>, right: ReadonlySet<number>): boolean {
  if (left.size !== right.size) return false;
  for (const member of left) if (!right.has(member)) return false;
  return true;
}
