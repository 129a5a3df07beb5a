import type { MergeOptions } from "../../merge/merge-key.ts";
import type { EntryReader } from "../../names/entries.ts";
import type { KeyWorld } from "../../names/key-world.ts";
import { type ListedRecord, listRecords } from "../../names/listing.ts";
import type { FederationOptions } from "../../zone/options.ts";
import { canonicalZone, openWorld } from "./offline-world.ts";

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
 * Lists zones as the gateway serves them: the clusterset's, then the federations', then those of single clusters.
 * @throws {UsageError} for zone names that cannot be served
 */
export function listZones(
  entries: EntryReader,
  rules: MergeOptions,
  { zones, view, federations }: ZoneSelection,
): { readonly world: KeyWorld; readonly zones: ListedZone[] } {
  const federated = federations.flatMap(({ zone, domain }) => [zone, domain]);
  const federationNames = new Set(federated.flatMap((zone) => canonicalZone(zone) ?? []));
  const local = entries.clusters().flatMap(({ clusterId, zone }) => {
    const name = canonicalZone(zone?.name);
    return name === undefined || (view !== undefined && clusterId !== view) ? [] : { clusterId, name };
  });
  const others = new Set([...federationNames, ...local.map(({ name }) => name)]);
  const isOther = (zone: string) => others.has(canonicalZone(zone) ?? "");
  const ofClusterset = zones.filter((zone) => !isOther(zone));
  const named = new Set(zones.flatMap((zone) => canonicalZone(zone) ?? []));
  const isListed = (name: string) => !zones.some(isOther) || named.has(name);

  const served = ofClusterset.length > 0 ? ofClusterset : DEFAULT_ZONES;
  const world = openWorld(entries, rules, { zones: served, federations });
  const list = (kind: ListedZone["kind"], zone: string, view: string | undefined): ListedZone => ({
    kind,
    zone,
    view,
    records: [...listRecords(world, { zone, view })],
  });
  const clustersetNames = new Set(served.flatMap((zone) => canonicalZone(zone) ?? []));
  return {
    world,
    zones: [
      ...[...clustersetNames].filter(isListed).map((name) => list("clusterset", name, view)),
      ...[...federationNames].filter(isListed).map((name) => list("federation", name, view)),
      ...local
        .filter(({ clusterId, name }) => isListed(name) && isServed(world, name, clusterId))
        .map(({ clusterId, name }) => list("cluster-local", name, clusterId)),
    ],
  };
}

// A cluster's zone with a taken name is a finding and exists in no view.
function isServed({ frame }: KeyWorld, name: string, clusterId: string): boolean {
  const zone = frame.zones.find((one) => one.name === name);
  return zone?.treeByView?.has(frame.viewOf(clusterId)) === true;
}
