import { parseName, RecordType } from "../../dns/name.ts";
import type { ClustersetService } from "../../merge/clusterset.ts";
import { KEEP_ORDER, RecordSets } from "../record-block.ts";
import type { FederationZone } from "../zone-plan.ts";
import { clusterIdLabels, endpointLabel, isHostLabel, isObjectLabel } from "./endpoint-records.ts";
import type { Distances, Origin } from "./tree-scope.ts";
import { ServiceScope, type TreeScope } from "./tree-scope.ts";

/**
 * Writes a service's names in a federation zone (federated service discovery):
 * `<service>.<ns>.<federation>.svc.<zone>` has every shard; `<cluster>.` before it has one; `<region>.` or
 * `<topology zone>.<region>.` between `svc` and the zone has the shards in that region or zone.
 */
export function compileFederatedService(
  tree: TreeScope,
  { federation, clients }: FederationZone,
  service: ClustersetService,
  distances: Distances,
): void {
  const { namespace, name } = service;
  if (!isObjectLabel(name) || !isObjectLabel(namespace)) return;
  const scope = new ServiceScope(tree, { kind: "Service", namespace, name });
  const offers = offersOf(scope, service, clients);
  if (offers.length === 0) return;
  const writer: NameWriter = { scope, origins: originsOf(tree, clients, distances), distances };
  const stem = `${namespace}.${federation}.svc`;
  writeName(writer, stem, [name], offers);
  const shards = new Map<string, Offer[]>();
  for (const offer of offers) addTo(shards, offer.clusterId, offer);
  for (const [clusterId, shard] of shards) {
    const labels = clusterIdLabels(clusterId);
    if (labels === undefined) continue;
    const node = writeName(writer, stem, [...labels, name], shard);
    if (node !== undefined) writeHosts(writer, node, shard);
  }
  writePlaces(writer, name, stem, offers);
}

function addTo(lists: Map<string, Offer[]>, key: string, offer: Offer): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [offer]);
  else list.push(offer);
}

interface NameWriter {
  readonly scope: ServiceScope;
  /** The views that may have an order of their own, by their names. */
  readonly origins: readonly (readonly [view: string, origin: Origin])[];
  readonly distances: Distances;
}

function originsOf(
  { context }: TreeScope,
  clients: FederationZone["clients"],
  distances: Distances,
): NameWriter["origins"] {
  const clusters = clients === "internal" ? [...context.clusterViews] : [];
  return [
    ...clusters.map((clusterId) => [clusterId, distances.originOf(clusterId)] as const),
    ...context.localities,
  ];
}

function writePlaces(writer: NameWriter, name: string, stem: string, offers: readonly Offer[]): void {
  const { scope, distances } = writer;
  const byPlace = new Map<string, Offer[]>();
  const add = (labels: readonly string[], offer: Offer) => {
    if (!labels.every((label) => isHostLabel(label))) {
      scope.report(
        offer.reportedBy,
        "InvalidTopology",
        `${labels.join(".")} cannot be labels of a DNS name: the service has no names in that region or zone`,
      );
      return;
    }
    addTo(byPlace, labels.join(".").toLowerCase(), offer);
  };
  for (const offer of offers) {
    const { region, zones } = distances.localityOf(offer.clusterId);
    if (region === undefined) continue;
    add([region], offer);
    for (const zone of offer.zone === undefined ? zones : [offer.zone]) add([zone, region], offer);
  }
  for (const [place, some] of byPlace) writeName(writer, `${stem}.${place}`, [name], some);
}

/** Names of single endpoints of a headless service, below the shard's name. */
function writeHosts(writer: NameWriter, shardNode: number, offers: readonly Offer[]): void {
  const byLabel = new Map<string, Offer[]>();
  for (const offer of offers) {
    if (offer.kind !== "endpoint") continue;
    const label = endpointLabel(writer.scope, offer.hostname, offer.bytes, offer.reportedBy);
    addTo(byLabel, label, offer);
  }
  for (const [label, some] of byLabel) writeName(writer, shardNode, [label], some);
}

/** @param parent a node, or the labels of a namespace, see `ServiceScope.name` */
function writeName(
  { scope, origins, distances }: NameWriter,
  parent: number | string,
  labels: readonly string[],
  offers: readonly Offer[],
): number | undefined {
  const node = scope.name(parent, labels, offers[0]!.reportedBy);
  if (node === undefined) return undefined;
  const anybody = orderOffers(offers, undefined, distances);
  const variants = new Map<number, RecordSets>();
  for (const [view, origin] of origins) {
    const own = orderOffers(offers, origin, distances);
    if (own.length !== anybody.length || own.some((offer, index) => offer !== anybody[index]))
      variants.set(scope.tree.context.names.view(view), recordSets(scope, own));
  }
  scope.write(node, recordSets(scope, anybody), offers[0]!.reportedBy, variants);
  return node;
}

/** Addresses in their order; without any, a CNAME record to the first load balancer's host name. */
function recordSets(scope: ServiceScope, offers: readonly Offer[]): RecordSets {
  const { context } = scope.tree;
  const sets = new RecordSets();
  const group = context.names.leaseGroup(offers.map(({ reportedBy }) => reportedBy));
  const hosts = offers.filter((offer) => offer.kind === "name");
  for (const offer of offers) {
    if (offer.kind !== "name") sets.addAddress(offer.bytes, context.ttl | KEEP_ORDER, group);
  }
  if (sets.isEmpty && hosts.length > 0) {
    sets.addRdata(RecordType.CNAME, hosts[0]!.wire, context.ttl, group);
    hosts.shift();
  }
  for (const { reportedBy, target } of hosts)
    scope.report(
      reportedBy,
      "HostNameLeftOut",
      `the load balancer's host name ${target} cannot be a CNAME record next to other records (RFC 1034 section 3.6.2): only the names of its shard have it`,
    );
  return sets;
}

interface OfferBase {
  /** The shard. */
  readonly clusterId: string;
  readonly reportedBy: string;
  /** Topology zone of an endpoint. */
  readonly zone: string | undefined;
}

/** An address or host name of a shard. */
type Offer =
  | (OfferBase & { readonly kind: "clusterIP" | "external"; readonly bytes: Uint8Array })
  | (OfferBase & {
      readonly kind: "endpoint";
      readonly bytes: Uint8Array;
      readonly hostname: string | undefined;
    })
  | (OfferBase & { readonly kind: "name"; readonly target: string; readonly wire: Uint8Array });

/** All addresses and host names of a service's shards for a kind of clients. Invalid ones become findings. */
function offersOf(
  scope: ServiceScope,
  service: ClustersetService,
  clients: "internal" | "external",
): Offer[] {
  const offers: Offer[] = [];
  for (const { clusterId, clusterIPs, externalAddresses, externalNames } of service.shards) {
    const base = { clusterId, reportedBy: clusterId, zone: undefined };
    const addAddresses = (kind: "clusterIP" | "external", addresses: readonly string[]) => {
      for (const text of addresses) {
        const bytes = scope.address(text, clusterId);
        if (bytes !== undefined) offers.push({ ...base, kind, bytes });
      }
    };
    if (clients === "internal") addAddresses("clusterIP", clusterIPs);
    addAddresses("external", externalAddresses);
    for (const target of externalNames)
      offers.push({ ...base, kind: "name", target, wire: parseName(target) });
  }
  if (clients === "internal")
    for (const { clusterId, reportedBy, address, hostname, zone } of service.endpoints) {
      const bytes = scope.address(address, reportedBy);
      if (bytes !== undefined)
        offers.push({ clusterId, reportedBy, zone, kind: "endpoint", bytes, hostname });
    }
  return offers;
}

/**
 * The offers for an origin, nearest first: the source cluster's own cluster IPs (its external addresses only if it has
 * none), then the external addresses of the other shards. Without a source cluster every shard counts as another one;
 * without an origin all distances are equal.
 */
function orderOffers(offers: readonly Offer[], origin: Origin | undefined, distances: Distances): Offer[] {
  const source = origin?.clusterId;
  const ownClusterIP = offers.some(({ kind, clusterId }) => kind === "clusterIP" && clusterId === source);
  const byDistance: [Offer[], Offer[], Offer[], Offer[]] = [[], [], [], []];
  for (const offer of offers) {
    const { kind, clusterId, zone } = offer;
    const isOwn = clusterId === source;
    const isOpen = kind === "clusterIP" ? isOwn : !(ownClusterIP && isOwn && kind !== "endpoint");
    if (isOpen)
      byDistance[origin === undefined ? 0 : distances.distance(origin, clusterId, zone)].push(offer);
  }
  return byDistance.flat();
}
