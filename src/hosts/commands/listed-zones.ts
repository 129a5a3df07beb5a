import { UsageError } from "../../config/values/usage-error.ts";
import { foldName, formatName, NameError, parseName } from "../../dns/name.ts";
import type { ClusterFinding, Clusterset } from "../../merge/clusterset.ts";
import { compileGeneration } from "../../zone/compile.ts";
import type { Generation } from "../../zone/generation/generation.ts";
import { type ListedRecord, listRecords } from "../../zone/listing.ts";
import type { FederationOptions, ZoneOptions } from "../../zone/options.ts";

/** A zone with its records in one view. */
export interface ListedZone {
  readonly kind: "clusterset" | "federation" | "cluster-local";
  /** With the trailing dot. */
  readonly zone: string;
  /** The cluster of the view; undefined for outside. */
  readonly view?: string | undefined;
  readonly records: readonly ListedRecord[];
}

/** The zones to compile, and those to list. */
export interface ZoneSelection {
  /**
   * The zones to list. A name of no other kind of zone is a name of the clusterset zone. If a name is of another
   * kind, only the named zones are listed; else all zones of the other kinds are listed, too.
   */
  readonly zones: readonly string[];
  /** The cluster id of the view; undefined for outside, which lists the own zones of all clusters. */
  readonly view: string | undefined;
  readonly federations: readonly FederationOptions[];
}

const DEFAULT_ZONES = ["clusterset.local"];

/**
 * Compiles a clusterset like the gateway and lists its zones: the clusterset's, then the federations',
 * then those of single clusters.
 * @throws {UsageError} for zone names that cannot be served
 */
export function listZones(
  clusterset: Clusterset,
  { zones, view, federations }: ZoneSelection,
): { readonly zones: ListedZone[]; readonly findings: readonly ClusterFinding[] } {
  const federated = federations.flatMap(({ zone, domain }) => [zone, domain]);
  const federationNames = new Set(federated.flatMap((zone) => canonicalZone(zone) ?? []));
  const local = clusterset.localZones.flatMap(({ clusterId, zone }) => {
    const name = canonicalZone(zone.name);
    return name === undefined || (view !== undefined && clusterId !== view) ? [] : { clusterId, name };
  });
  const others = new Set([...federationNames, ...local.map(({ name }) => name)]);
  const isOther = (zone: string) => others.has(canonicalZone(zone) ?? "");
  const ofClusterset = zones.filter((zone) => !isOther(zone));
  const named = new Set(zones.flatMap((zone) => canonicalZone(zone) ?? []));
  const isListed = (name: string) => !zones.some(isOther) || named.has(name);

  const compiled = ofClusterset.length > 0 ? ofClusterset : DEFAULT_ZONES;
  const { generation, findings } = compileZones(clusterset, { zones: compiled, federations });
  const list = (kind: ListedZone["kind"], zone: string, view: string | undefined): ListedZone => ({
    kind,
    zone,
    view,
    records: [...listRecords(generation, { zone, view })],
  });
  const clustersetNames = new Set(compiled.flatMap((zone) => canonicalZone(zone) ?? []));
  return {
    zones: [
      ...[...clustersetNames].filter(isListed).map((name) => list("clusterset", name, view)),
      ...[...federationNames].filter(isListed).map((name) => list("federation", name, view)),
      ...local
        .filter(({ clusterId, name }) => isListed(name) && isServed(generation, name, clusterId))
        .map(({ clusterId, name }) => list("cluster-local", name, clusterId)),
    ],
    findings,
  };
}

/**
 * `compileGeneration` with usage errors for zone names.
 * @throws {UsageError} for zone names that cannot be served
 */
export function compileZones(clusterset: Clusterset, options: Partial<ZoneOptions>) {
  try {
    return compileGeneration(clusterset, options);
  } catch (error) {
    if (error instanceof NameError || error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}

/** A zone's name in lower case with the trailing dot; undefined for an invalid name. */
export function canonicalZone(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return formatName(foldName(parseName(text)));
  } catch {
    return undefined;
  }
}

// A cluster's zone with a taken name is a finding and exists in no view.
function isServed({ frame }: Generation, name: string, clusterId: string): boolean {
  const zone = frame.zones.find((one) => one.name === name);
  return zone?.treeByView?.has(frame.viewOf(clusterId)) === true;
}
