import type { EndpointGroups } from "../snapshot/schema.ts";
import type { ClusterFinding, ServiceName } from "./clusterset.ts";
import type { AdjustedTime, Contribution } from "./declaration.ts";

/**
 * For which other source clusters the imports of a cluster count, by cluster id: all, or some. One that is
 * absent speaks for itself alone.
 */
export type Grants = ReadonlyMap<string, "*" | ReadonlySet<string>>;

/** What counts of the contributions to one service. */
export interface GrantedContributions {
  /** The same clusters, without endpoints that they may not report. */
  readonly contributions: readonly Contribution[];
  /** Whether what a cluster imports counts for others than itself. */
  readonly countsForOthers: (clusterId: string) => boolean;
  readonly findings: readonly ClusterFinding[];
}

const EVERYBODY = () => true;
const MOST_LISTED = 10;

/**
 * Applies the grants to one service. A cluster that exports the service has its part in it; what another one
 * imports counts for its own view, and for others only by a grant: for all exporters, or where no cluster
 * exports the service, before that of clusters without one. Endpoints that the source cluster itself reports
 * are not missing, so there is no finding for them.
 * @param grants undefined where each cluster speaks for all
 */
export function applyGrants(
  service: ServiceName,
  contributions: readonly Contribution[],
  grants: Grants | undefined,
): GrantedContributions {
  if (grants === undefined) return { contributions, countsForOthers: EVERYBODY, findings: [] };
  const countsForOthers = findCountedForOthers(contributions, grants);
  const exporters = exportersOf(contributions);
  const findings: ClusterFinding[] = [];
  const report = (clusterId: string, message: string) =>
    findings.push({
      clusterId,
      reason: "SourceClusterNotGranted",
      kind: "ServiceImport",
      ...service,
      message,
    });

  const granted = contributions.map((contribution) => {
    const { clusterId, imported } = contribution;
    if (imported === undefined) return contribution;
    const sources = Object.keys(imported.endpoints);
    const counts = (source: string) =>
      source.toLowerCase() === clusterId ? countsForOthers(clusterId) : maySpeak(grants, clusterId, source);
    const missed = sources.filter(
      (source) =>
        !counts(source) && !exporters.has(source.toLowerCase()) && hasMembers(imported.endpoints[source]!),
    );
    if (missed.length > 0) report(clusterId, describeMissed(clusterId, missed));
    const endpoints = Object.fromEntries(
      Object.entries(imported.endpoints).filter(([source]) => counts(source)),
    );
    return { ...contribution, imported: { ...imported, endpoints } };
  });

  const haveAddresses = contributions.filter(({ imported }) => (imported?.ips.length ?? 0) > 0);
  if (!haveAddresses.some(({ clusterId }) => countsForOthers(clusterId)))
    for (const { clusterId } of haveAddresses)
      report(
        clusterId,
        `spec.ips are answered to ${clusterId} alone, which neither exports the service nor may speak for those who do: push.credentials[].speaksFor grants it`,
      );
  return { contributions: granted, countsForOthers, findings };
}

/**
 * Whether a cluster may report the endpoints of a source cluster. A source cluster without a name needs a
 * grant for all.
 */
function maySpeak(grants: Grants, clusterId: string, source: string): boolean {
  const named = source.toLowerCase();
  const grant = grants.get(clusterId);
  return named === clusterId || grant === "*" || grant?.has(named) === true;
}

/**
 * Clusters whose imports count for others: exporters, and those that may speak for all of them. Without
 * exporters those with the widest grant.
 */
function findCountedForOthers(
  contributions: readonly Contribution[],
  grants: Grants,
): (clusterId: string) => boolean {
  const exporters = exportersOf(contributions);
  const covers = (clusterId: string, clusters: ReadonlySet<string>) =>
    [...clusters].every((cluster) => maySpeak(grants, clusterId, cluster));
  if (exporters.size > 0) return (clusterId) => covers(clusterId, exporters) || exporters.has(clusterId);
  const sources = new Set<string>();
  for (const { clusterId, imported } of contributions)
    for (const source of Object.keys(imported?.endpoints ?? {}))
      if (source.toLowerCase() !== clusterId && maySpeak(grants, clusterId, source)) sources.add(source);
  const rankOf = (clusterId: string) => {
    if (grants.get(clusterId) === "*") return 0;
    return covers(clusterId, sources) ? 1 : 2;
  };
  const best = Math.min(...contributions.map(({ clusterId }) => rankOf(clusterId)));
  return (clusterId) => rankOf(clusterId) === best;
}

function exportersOf(contributions: readonly Contribution[]): ReadonlySet<string> {
  return new Set(
    contributions.flatMap(({ clusterId, exported }) => (exported === undefined ? [] : clusterId)),
  );
}

function hasMembers(groups: EndpointGroups): boolean {
  return Object.values(groups).some(({ members }) => Object.keys(members).length > 0);
}

function describeMissed(clusterId: string, sources: readonly string[]): string {
  const listed = sources.slice(0, MOST_LISTED).map((source) => JSON.stringify(source));
  const more = sources.length > listed.length ? ` and ${sources.length - listed.length} more` : "";
  return `endpoints of ${listed.join(", ")}${more} are left out: ${clusterId} may not speak for them; push.credentials[].speaksFor grants it`;
}

/** What the operator has decided of services, whatever clusters report. */
export interface Pins {
  /** The services that a cluster may export, by cluster id. A cluster that is absent may export any. */
  readonly exports?: ReadonlyMap<string, readonly string[]> | undefined;
  /** Whose export decides the properties of a service; the first that fits counts. */
  readonly owners?: readonly { readonly service: string; readonly owner: string }[] | undefined;
}

/** The same in the form that merging reads. Services are `<namespace>/<name>`. */
export interface PinTable {
  mayExport(clusterId: string, service: string): boolean;
  ownerOf(service: string): string | undefined;
}

/** The rank of a pinned owner: before every other export. */
export const PINNED: AdjustedTime = { counts: Number.NEGATIVE_INFINITY, because: undefined };

/**
 * A pattern of services: a namespace, or `<namespace>/<name>`; `*` matches any number of characters within
 * either part.
 */
export const SERVICE_PATTERN = /^[a-z0-9*-]{1,63}(?:\/[a-z0-9*-]{1,63})?$/;

type Fits = (service: string) => boolean;

/** @throws {RangeError} for what is no pattern */
export function createPinTable({ exports, owners = [] }: Pins = {}): PinTable {
  const allowed = new Map<string, readonly Fits[]>(
    [...(exports ?? [])].map(([clusterId, patterns]) => [clusterId, patterns.map(fitting)]),
  );
  const owned = owners.map(({ service, owner }) => [fitting(service), owner] as const);
  return {
    mayExport: (clusterId, service) => allowed.get(clusterId)?.some((fits) => fits(service)) ?? true,
    ownerOf: (service) => owned.find(([fits]) => fits(service))?.[1],
  };
}

function fitting(pattern: string): Fits {
  if (!SERVICE_PATTERN.test(pattern))
    throw new RangeError(`${JSON.stringify(pattern)} is no pattern of services`);
  const [namespace, name = "*"] = pattern.split("/");
  const wanted = [namespace!, name].map((part) => part.split("*"));
  return (service) => service.split("/").every((part, index) => fitsPart(wanted[index]!, part));
}

/**
 * Takes the texts between the stars from the left, so that no pattern costs more than its length times that
 * of the text.
 */
function fitsPart([first, ...others]: readonly string[], text: string): boolean {
  if (others.length === 0) return text === first;
  if (!text.startsWith(first!)) return false;
  const last = others.at(-1)!;
  let at = first!.length;
  for (const between of others.slice(0, -1)) {
    const found = text.indexOf(between, at);
    if (found < 0) return false;
    at = found + between.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
