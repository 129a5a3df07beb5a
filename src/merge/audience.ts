import type { ImportedService } from "../snapshot/schema.ts";
import { ABSENT_CLUSTER, filterRecord } from "./clusterset.ts";
import type { Contribution } from "./declaration.ts";
import type { Grants, PinTable } from "./grants.ts";
import type { KeyParts } from "./merge-key.ts";

/**
 * The exports of a service to some clusters only (kubernetes/enhancements#6329): by exporter, the clusters
 * that it exports to, itself included.
 */
export type Restrictions = ReadonlyMap<string, ReadonlySet<string>>;

/** Clusters whose views lack the same exports of a service. */
export interface Audience {
  /** Their ids; `ABSENT_CLUSTER` stands for all clusters that no audience names. */
  readonly views: readonly string[];
  /** The clusters whose exports they lack. */
  readonly lacking: ReadonlySet<string>;
}

/**
 * The most audiences of one service, each of which is merged. Clusters that would be in one more count as
 * clusters that no export names.
 */
export const MOST_AUDIENCES = 64;

const NO_CLUSTERS: ReadonlySet<string> = new Set();
const UNRESTRICTED: Restrictions = new Map();

/** The restrictions of exports that count, and of those of clusters whose lease expired. */
export function restrictionsOf(
  key: string,
  { contributions, clusters, lapsed }: KeyParts,
  pins: PinTable,
): Restrictions {
  let restrictions: Map<string, ReadonlySet<string>> | undefined;
  const add = (clusterId: string, named: readonly string[]) => {
    if (!pins.mayExport(clusterId, key)) return;
    restrictions ??= new Map();
    restrictions.set(clusterId, new Set([clusterId, ...named]));
  };
  for (const { clusterId, exported } of contributions)
    if (exported?.clusters !== undefined && clusters.has(clusterId)) add(clusterId, exported.clusters);
  for (const [clusterId, named] of lapsed ?? []) add(clusterId, named);
  return restrictions ?? UNRESTRICTED;
}

/**
 * The clusters whose exports a view lacks.
 * @param view a cluster id; undefined for outside, where every export counts
 */
export function lackingIn(restrictions: Restrictions, view: string | undefined): ReadonlySet<string> {
  if (view === undefined || restrictions.size === 0) return NO_CLUSTERS;
  return new Set([...restrictions].flatMap(([clusterId, clusters]) => (clusters.has(view) ? [] : clusterId)));
}

/** The audiences of a service, first the one that sees every export; none where all do. */
export function audiencesOf(restrictions: Restrictions): readonly Audience[] {
  if (restrictions.size === 0) return [];
  const named = new Set([...restrictions.values()].flatMap((clusters) => [...clusters]));
  const found = new Map([["", { views: [] as string[], lacking: NO_CLUSTERS }]]);
  for (const view of [ABSENT_CLUSTER, ...[...named].sort()]) {
    const lacking = lackingIn(restrictions, view);
    const id = [...lacking].join();
    if (!found.has(id) && found.size < MOST_AUDIENCES) found.set(id, { views: [], lacking });
    found.get(id)?.views.push(view);
  }
  return [...found.values()];
}

/**
 * What counts of a service without the exports of some clusters. ServiceImports may rest on these: they have
 * addresses for their own cluster alone, and those of clusters that speak for others the endpoints of the
 * rest.
 */
export function withoutExports(
  contributions: readonly Contribution[],
  lacking: ReadonlySet<string>,
  grants: Grants | undefined,
): readonly Contribution[] {
  if (lacking.size === 0) return contributions;
  return contributions.map((one) => {
    const { clusterId, imported, managed } = one;
    const rest = imported && grants?.has(clusterId) ? endpointsWithout(imported, lacking) : undefined;
    const own = { ...one, imported: rest, managed: managed ?? imported };
    return lacking.has(clusterId) ? { ...own, exported: undefined, adjusted: undefined } : own;
  });
}

function endpointsWithout(
  imported: ImportedService,
  lacking: ReadonlySet<string>,
): ImportedService | undefined {
  const endpoints = filterRecord(imported.endpoints, (groups, source) =>
    lacking.has(source.toLowerCase()) ? undefined : groups,
  );
  return Object.keys(endpoints).length === 0 ? undefined : { ...imported, ips: [], endpoints };
}
