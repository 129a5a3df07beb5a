import { usableAddress } from "../dns/address.ts";
import { RecordType } from "../dns/codes.ts";
import { parseName } from "../dns/name.ts";
import { ABSENT_CLUSTER, type ClusterFinding, type Clusterset } from "../merge/clusterset.ts";
import { ZoneImage } from "./image/image.ts";
import { ImageBuilder } from "./image/image-builder.ts";
import { CLUSTER_LOCAL_DNS_VERSION, compileClusterLocal } from "./kinds/cluster-local.ts";
import { CLUSTERSET_DNS_VERSION, compileClustersetService } from "./kinds/clusterset.ts";
import { Distances } from "./kinds/distances.ts";
import { compileFederatedService } from "./kinds/federation.ts";
import { type Locality, localityView } from "./locality.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "./options.ts";
import { RecordSets } from "./record-sets.ts";
import { NO_HISTORY, type ReverseHistory } from "./reverse/reverse-order.ts";
import type { ImageScope, TreeScope } from "./tree-scope.ts";
import { canonicalZoneName, planZones, type TreePlan, type ZonePlan } from "./zone-plan.ts";

/** TTL of the schema version record in seconds, as both specifications print it (2.2). */
const DNS_VERSION_TTL = 28800;

/** An image, with what was found while it was compiled. */
export interface CompiledZones {
  readonly image: ZoneImage;
  readonly findings: readonly ClusterFinding[];
  /** What the next image is compiled with, so that reverse names stay where they are. */
  readonly reverse: ReverseHistory;
}

/**
 * Compiles a clusterset into a ZoneImage: the clusterset zone with its aliases, the zones of single clusters, federation
 * zones. Data that DNS cannot hold becomes a finding; all other data is compiled.
 * @param history who had addresses before
 * @throws {NameError} if a zone name is malformed. @throws {RangeError} if two kinds claim one zone.
 * @throws {CapacityError} if the image would exceed a limit of the format.
 */
export function compileZoneImage(
  clusterset: Clusterset,
  given: Partial<ZoneOptions> = {},
  history: ReverseHistory = NO_HISTORY,
): CompiledZones {
  const options = { ...DEFAULT_ZONE_OPTIONS, ...given };
  const findings: ClusterFinding[] = [];
  const plan = planZones(clusterset, options, findings);
  const builder = new ImageBuilder(plan.trees.length);
  const clusterIds = [
    ...clusterset.clusters.map(({ clusterId }) => clusterId),
    ...(clusterset.withAbsent === true ? [ABSENT_CLUSTER] : []),
  ];
  const localities = distinctLocalities(options);
  const image: ImageScope = {
    builder,
    views: new Map(clusterIds.map((clusterId, index) => [clusterId, index])),
    localities: localities.map(({ region, zone }, index) => [
      clusterIds.length + index,
      { clusterId: undefined, region, zones: zone === undefined ? [] : [zone] },
    ]),
    ttl: builder.ttl(options.ttl),
    findings,
  };
  // Trees of single clusters first: in a cluster's own view its cluster-local reverse names win (specification 2.3.3, Limitations).
  const scopes = plan.trees.map((tree, index) => ({ tree, scope: scopeOf(image, plan, index) }));
  const nameServers = scopes.map(({ tree, scope }) =>
    compileZoneItself(scope, tree, zonesOf(plan, scope.apex), options),
  );
  const distances = new Distances(clusterset);
  for (const { tree, scope } of scopes.toReversed()) compileTree(clusterset, tree, scope, distances);
  const live = new Set(clusterset.clusters.map(({ clusterId }) => clusterId));
  findings.push(...builder.claims.settle(history, live));
  const namespaces = new Map(clusterset.clusters.map((cluster) => [cluster.clusterId, cluster.namespaces]));
  const bytes = builder.finish({
    zones: plan.zones,
    nameServers,
    podNames: clusterset.localZones.some(({ zone }) => zone.pods === "insecure"),
    views: [...clusterIds, ...localities.map(localityView)],
    negativeTtl: options.negativeTtl,
    serial: options.serial,
    lacks: (view, namespace) => namespaces.get(view)?.has(namespace) === false,
  });
  return { image: ZoneImage.load(bytes), findings, reverse: builder.claims.history() };
}

/** Only federation zones depend on a locality. */
function distinctLocalities({ federations, localities }: ZoneOptions): Locality[] {
  return federations.length === 0
    ? []
    : [...new Map(localities.map((place) => [localityView(place), place])).values()];
}

/** The names of a tree's zones in text, the canonical one first. */
function zonesOf({ zones }: ZonePlan, tree: number): string[] {
  return zones
    .filter((zone) => zone.tree === tree || zone.byView.some(([, own]) => own === tree))
    .map(({ name }) => name);
}

function scopeOf(image: ImageScope, plan: ZonePlan, tree: number): TreeScope {
  const bytes = zonesOf(plan, tree).map((name) => parseName(name).length);
  return { image, apex: tree, shortestZoneBytes: Math.min(...bytes), canonicalZoneBytes: bytes[0]! };
}

function compileTree(clusterset: Clusterset, tree: TreePlan, scope: TreeScope, distances: Distances): void {
  switch (tree.kind) {
    case "clusterset":
      for (const service of clusterset.services) compileClustersetService(scope, service);
      break;
    case "cluster-local":
      compileClusterLocal(scope, tree.zone);
      break;
    case "federation":
      for (const zone of tree.zones)
        for (const service of clusterset.services) compileFederatedService(scope, zone, service, distances);
  }
}

/** Writes the records that do not depend on services; returns the node of the name server's name. */
function compileZoneItself(
  { image, apex }: TreeScope,
  tree: TreePlan,
  zones: readonly string[],
  { nameServerAddresses, hosts }: ZoneOptions,
): number {
  const { builder, ttl } = image;
  const { nodes } = builder;
  const records = new Map<number, RecordSets>();
  const setsAt = (labels: readonly string[]) => {
    const node = labels.reduceRight((parent, label) => nodes.child(parent, label, 0), apex);
    const sets = records.get(node) ?? new RecordSets();
    records.set(node, sets);
    return { node, sets };
  };
  if (tree.kind !== "federation") {
    const version = tree.kind === "clusterset" ? CLUSTERSET_DNS_VERSION : CLUSTER_LOCAL_DNS_VERSION;
    const text = Uint8Array.from(version, (character) => character.charCodeAt(0));
    const { sets } = setsAt(["dns-version"]);
    sets.addRdata(RecordType.TXT, Uint8Array.of(text.length, ...text), builder.ttl(DNS_VERSION_TTL), 0);
  }
  const nameServer = setsAt(["ns", "dns"]);
  addAddresses(nameServer.sets, nameServerAddresses, ttl);
  for (const { name, addresses } of hosts)
    for (const labels of labelsBelow(name, zones)) addAddresses(setsAt(labels).sets, addresses, ttl);
  for (const [node, sets] of records) builder.setRecords(node, sets);
  // An empty zone still answers NODATA, not NXDOMAIN, at the parent name of all services.
  nodes.child(apex, "svc", 0);
  return nameServer.node;
}

function addAddresses(sets: RecordSets, addresses: readonly string[], ttl: number): void {
  for (const address of addresses) {
    const octets = usableAddress(address);
    if (octets === undefined)
      throw new RangeError(`the address ${JSON.stringify(address)} is not an IP address`);
    sets.addAddress(octets, ttl, 0);
  }
}

/** For each zone that contains the name: the labels below that zone. */
function labelsBelow(name: string, zones: readonly string[]): string[][] {
  const host = canonicalZoneName(name);
  return zones
    .filter((zone) => host === zone || host.endsWith(`.${zone}`))
    .map((zone) => (host === zone ? [] : host.slice(0, -zone.length - 1).split(".")));
}
