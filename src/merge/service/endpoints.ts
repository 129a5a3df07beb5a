import type { EndpointGroups } from "../../snapshot/schema.ts";
import type { ClustersetEndpoint } from "../clusterset.ts";
import { compareText } from "../order.ts";
import type { Contribution } from "./declaration.ts";

interface Candidate {
  readonly endpoint: ClustersetEndpoint;
  /** The source cluster in lower case: DNS knows no other case (RFC 4343). */
  readonly source: string;
  readonly portSet: string;
}

/**
 * Every endpoint of a service that may be answered with, whatever the type of the cluster's own
 * Service: a ClusterIP exporter's pods are backends of a headless service, and the reverse
 * (KEP-1645, Service Types). A cluster that exports the service speaks for its own endpoints; for
 * the other source clusters the importers speak. An endpoint that several clusters report is one endpoint, reported by the
 * source cluster itself if it is among them. Sorted by source cluster, address, hostname, ports.
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
