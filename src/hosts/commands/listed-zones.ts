import { UsageError } from "../../config/usage-error.ts";
import { foldName, formatName, NameError, parseName } from "../../dns/name.ts";
import type { ClusterFinding, Clusterset } from "../../merge/clusterset.ts";
import { compileZoneImage } from "../../zone/compile.ts";
import type { ZoneImage } from "../../zone/image.ts";
import { type ListedRecord, listRecords } from "../../zone/listing.ts";
import type { FederationOptions, ZoneOptions } from "../../zone/options.ts";

/** A zone with its records, as one asker sees it. */
export interface ListedZone {
  readonly kind: "clusterset" | "federation" | "cluster-local";
  /** With the trailing dot. */
  readonly zone: string;
  /** The asker, where it is a cluster. */
  readonly view?: string | undefined;
  readonly records: readonly ListedRecord[];
}

/** Which zones are compiled, and which of them are listed. */
export interface ZoneSelection {
  /**
   * Zones to list. Names of no other kind of zone are the clusterset zone's. Where it names a zone of another
   * kind only the named ones are listed, else all of those too.
   */
  readonly zones: readonly string[];
  /** The cluster id of the asker, undefined for outside: outside the zones of all clusters are listed. */
  readonly view: string | undefined;
  readonly federations: readonly FederationOptions[];
}

const DEFAULT_ZONES = ["clusterset.local"];

/**
 * Compiles a clusterset as the gateway does and lists its zones: the clusterset's, then the federations',
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
  const { image, findings } = compileZones(clusterset, { zones: compiled, federations });
  const list = (kind: ListedZone["kind"], zone: string, asker: string | undefined): ListedZone => ({
    kind,
    zone,
    view: asker,
    records: [...listRecords(image, { zone, view: asker })],
  });
  const clustersetNames = new Set(compiled.flatMap((zone) => canonicalZone(zone) ?? []));
  return {
    zones: [
      ...[...clustersetNames].filter(isListed).map((name) => list("clusterset", name, view)),
      ...[...federationNames].filter(isListed).map((name) => list("federation", name, view)),
      ...local
        .filter(({ clusterId, name }) => isListed(name) && isServed(image, name, clusterId))
        .map(({ clusterId, name }) => list("cluster-local", name, clusterId)),
    ],
    findings,
  };
}

/**
 * `compileZoneImage`, with zone names as something that was typed.
 * @throws {UsageError} for zone names that cannot be served
 */
export function compileZones(clusterset: Clusterset, options: Partial<ZoneOptions>) {
  try {
    return compileZoneImage(clusterset, options);
  } catch (error) {
    if (error instanceof NameError || error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}

/** A zone's name in lower case with the trailing dot; undefined for what is no name. */
export function canonicalZone(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return formatName(foldName(parseName(text)));
  } catch {
    return undefined;
  }
}

// A cluster's zone whose name is taken is a finding and in no view.
function isServed(image: ZoneImage, name: string, clusterId: string): boolean {
  const zone = image.zones.find((one) => one.name === name);
  return zone?.treeByView?.has(image.viewOf(clusterId)) === true;
}
