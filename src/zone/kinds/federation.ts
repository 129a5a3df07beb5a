import { parseName, RecordType } from "../../dns/name.ts";
import { endsStep, ITEMS_AT_ONCE, type Steps } from "../../dns/steps.ts";
import type { ClustersetService } from "../../merge/clusterset.ts";
import { KEEP_ORDER, RecordSets } from "../world.ts";
import type { FederationZone } from "../zone-plan.ts";
import { clusterIdLabels, endpointLabel, isHostLabel, isObjectLabel } from "./endpoint-records.ts";
import { type Distances, type Origin, ServiceScope, type TreeScope } from "./tree-scope.ts";

/**
 * Writes a service's names in a federation zone (federated service discovery):
 * `<service>.<ns>.<federation>.svc.<zone>` has every shard; `<cluster>.` before it has one; `<region>.` or
 * `<topology zone>.<region>.` between `svc` and the zone has the shards in that region or zone.
 */
export function* compileFederatedService(
  tree: TreeScope,
  { federation, clients }: FederationZone,
  service: ClustersetService,
  distances: Distances,
): Steps {
  const { namespace, name } = service;
  if (!isObjectLabel(name) || !isObjectLabel(namespace)) return;
  const scope = new ServiceScope(tree, { kind: "Service", namespace, name });
  const offers = offersOf(scope, service, clients);
  if (offers.length === 0) return;
  const writer: NameWriter = { scope, origins: originsOf(tree, clients, distances), distances, ordered: 0 };
  const stem = `${namespace}.${federation}.svc`;
  yield* writeName(writer, stem, [name], offers);
  for (const [clusterId, shard] of Map.groupBy(offers, (offer) => offer.clusterId)) {
    const labels = clusterIdLabels(clusterId);
    const node = labels && (yield* writeName(writer, stem, [...labels, name], shard));
    if (node !== undefined) yield* writeHosts(writer, node, shard);
  }
  for (const [place, some] of yield* placesOf(writer, offers))
    yield* writeName(writer, `${stem}.${place}`, [name], some);
}

interface NameWriter {
  readonly scope: ServiceScope;
  /** The views that may have an order of their own, by their names. */
  readonly origins: readonly {
    readonly view: string;
    readonly origin: Origin;
    /** The region and zones as a text. */
    readonly place: string;
  }[];
  readonly distances: Distances;
  /** Offers that were ordered in this step. */
  ordered: number;
}

function originsOf(
  { context }: TreeScope,
  clients: FederationZone["clients"],
  distances: Distances,
): NameWriter["origins"] {
  const clusters = clients === "internal" ? [...context.clusterViews] : [];
  const origins = [
    ...clusters.map((clusterId) => [clusterId, distances.originOf(clusterId)] as const),
    ...context.localities,
  ];
  return origins.map(([view, origin]) => ({
    view,
    origin,
    place: JSON.stringify([origin.region, origin.zones]),
  }));
}

/** Offers by the labels of their region, and of their topology zone in it. */
function* placesOf(
  { scope, distances }: NameWriter,
  offers: readonly Offer[],
): Steps<ReadonlyMap<string, readonly Offer[]>> {
  const places = new Map<string, Offer[]>();
  const add = (labels: readonly string[], offer: Offer) => {
    if (!labels.every((label) => isHostLabel(label))) {
      scope.report(
        offer.reportedBy,
        "InvalidTopology",
        `${labels.join(".")} cannot be labels of a DNS name: the service has no names in that region or zone`,
      );
      return;
    }
    const place = labels.join(".").toLowerCase();
    const known = places.get(place);
    if (known === undefined) places.set(place, [offer]);
    else known.push(offer);
  };
  let count = 0;
  for (const offer of offers) {
    const { region, zones } = distances.localityOf(offer.clusterId);
    if (region === undefined) continue;
    add([region], offer);
    for (const zone of offer.zone === undefined ? zones : [offer.zone]) {
      if (endsStep(count++)) yield;
      add([zone, region], offer);
    }
  }
  return places;
}

/** Names of single endpoints of a headless service, below the shard's name. */
function* writeHosts(writer: NameWriter, shardNode: number, shard: readonly Offer[]): Steps {
  const endpoints = shard.filter(({ kind }) => kind === "endpoint");
  const labelOf = ({ hostname, bytes, reportedBy }: Offer) =>
    endpointLabel(writer.scope, hostname, bytes!, reportedBy).toLowerCase();
  for (const [label, some] of Map.groupBy(endpoints, labelOf))
    yield* writeName(writer, shardNode, [label], some);
}

/** @param parent a node, or the labels of a namespace, see `ServiceScope.name` */
function* writeName(
  writer: NameWriter,
  parent: number | string,
  labels: readonly string[],
  offers: readonly Offer[],
): Steps<number | undefined> {
  const { scope, origins, distances } = writer;
  yield* countOrdered(writer, offers.length);
  const node = scope.name(parent, labels, offers[0]!.reportedBy);
  if (node === undefined) return undefined;
  const anybody = orderOffers(offers, undefined, distances);
  const variants = new Map<number, RecordSets>();
  const shards = new Set(offers.map(({ clusterId }) => clusterId));
  /** By region and zones, of origins without an offer; undefined where the order is that of anybody. */
  const byPlace = new Map<string, RecordSets | undefined>();
  for (const { view, origin, place } of origins) {
    const isShard = origin.clusterId !== undefined && shards.has(origin.clusterId);
    // One offer is in the same place for all but its own cluster.
    if (!isShard && offers.length === 1) continue;
    let sets = isShard ? undefined : byPlace.get(place);
    if (isShard || !byPlace.has(place)) {
      yield* countOrdered(writer, offers.length);
      const own = orderOffers(offers, origin, distances);
      const isOther = own.length !== anybody.length || own.some((offer, index) => offer !== anybody[index]);
      sets = isOther ? recordSets(scope, own) : undefined;
      if (!isShard) byPlace.set(place, sets);
    }
    if (sets !== undefined) variants.set(scope.tree.context.names.view(view), sets);
  }
  scope.write(node, recordSets(scope, anybody), offers[0]!.reportedBy, variants);
  return node;
}

/** Ends a step for each so many ordered offers, whatever names they are for. */
function* countOrdered(writer: NameWriter, offers: number): Steps {
  for (writer.ordered += offers; writer.ordered >= ITEMS_AT_ONCE; writer.ordered -= ITEMS_AT_ONCE) yield;
}

/** Addresses in their order; without any, a CNAME record to the first load balancer's host name. */
function recordSets(scope: ServiceScope, offers: readonly Offer[]): RecordSets {
  const { context } = scope.tree;
  const sets = new RecordSets();
  const group = context.names.leaseGroup(offers.map(({ reportedBy }) => reportedBy));
  const hosts = offers.filter(({ kind }) => kind === "name");
  for (const { bytes } of offers)
    if (bytes !== undefined) sets.addAddress(bytes, context.ttl | KEEP_ORDER, group);
  if (sets.isEmpty && hosts.length > 0) {
    sets.addRdata(RecordType.CNAME, hosts[0]!.wire!, context.ttl, group);
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

/** An address or host name of a shard. */
interface Offer {
  readonly kind: "clusterIP" | "external" | "endpoint" | "name";
  /** The shard. */
  readonly clusterId: string;
  readonly reportedBy: string;
  /** The topology zone and the hostname of an endpoint. */
  readonly zone?: string | undefined;
  readonly hostname?: string | undefined;
  /** The address; undefined for a host name. */
  readonly bytes?: Uint8Array;
  /** The host name. */
  readonly target?: string;
  readonly wire?: Uint8Array;
}

/**
 * All addresses and host names of a service's shards for a kind of clients, the oldest export first. Invalid
 * ones become findings.
 */
function offersOf(
  scope: ServiceScope,
  { shards, exporters, endpoints }: ClustersetService,
  clients: "internal" | "external",
): Offer[] {
  const isInternal = clients === "internal";
  const offers = shards.flatMap(({ clusterId, clusterIPs, externalAddresses, externalNames }) => {
    const base = { clusterId, reportedBy: clusterId };
    const at = (kind: Offer["kind"], addresses: readonly string[]) =>
      addresses.flatMap((text): Offer[] => {
        const bytes = scope.address(text, clusterId);
        return bytes === undefined ? [] : [{ ...base, kind, bytes }];
      });
    const names = (target: string): Offer => ({ ...base, kind: "name", target, wire: parseName(target) });
    return [
      ...(isInternal ? at("clusterIP", clusterIPs) : []),
      ...at("external", externalAddresses),
      ...externalNames.map(names),
    ];
  });
  if (!isInternal) return offers;
  const byCluster = Map.groupBy(endpoints, ({ clusterId }) => clusterId);
  for (const cluster of new Set([...exporters, ...byCluster.keys()]))
    for (const { clusterId, reportedBy, address, hostname, zone } of byCluster.get(cluster) ?? []) {
      const bytes = scope.address(address, reportedBy);
      if (bytes !== undefined)
        offers.push({ kind: "endpoint", clusterId, reportedBy, zone, hostname, bytes });
    }
  return offers;
}

/**
 * The offers for an origin, nearest first: the source cluster's own cluster IPs (its external addresses only
 * if it has none), then the external addresses of the other shards. Without a source cluster every shard
 * counts as another one; without an origin all distances are equal.
 */
function orderOffers(offers: readonly Offer[], origin: Origin | undefined, distances: Distances): Offer[] {
  const source = origin?.clusterId;
  const ownClusterIP = offers.some(({ kind, clusterId }) => kind === "clusterIP" && clusterId === source);
  const byDistance: [Offer[], Offer[], Offer[], Offer[]] = [[], [], [], []];
  for (const offer of offers) {
    const { kind, clusterId, zone } = offer;
    const isOwn = clusterId === source;
    const isOpen = kind === "clusterIP" ? isOwn : !(ownClusterIP && isOwn);
    if (isOpen)
      byDistance[origin === undefined ? 0 : distances.distance(origin, clusterId, zone)].push(offer);
  }
  return byDistance.flat();
}
