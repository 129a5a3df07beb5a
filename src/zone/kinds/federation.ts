import { RecordType } from "../../dns/codes.ts";
import { parseName } from "../../dns/name.ts";
import type { ClustersetService } from "../../merge/clusterset.ts";
import { ENDPOINT_UNITS } from "../pace.ts";
import { KEEP_ORDER } from "../segment/layout.ts";
import { RecordSets } from "../segment/record-sets.ts";
import type { Distances, Origin } from "./distances.ts";
import { endpointLabel } from "./endpoint-records.ts";
import { type Offer, offersOf, orderOffers } from "./federation-offers.ts";
import { clusterIdLabels, isHostLabel, isObjectLabel } from "./service-labels.ts";
import { ServiceScope, type TreeScope } from "./tree-scope.ts";

/** A federation zone; the kind of its clients decides which addresses it has. */
export interface FederationZone {
  /** The federation's name, a label. */
  readonly federation: string;
  /** Internal clients get their own cluster's addresses first; external ones only load balancers, ordered by locality alone. */
  readonly clients: "internal" | "external";
}

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
): Generator<void> {
  const { namespace, name } = service;
  if (!isObjectLabel(name) || !isObjectLabel(namespace)) return;
  const scope = new ServiceScope(tree, { kind: "Service", namespace, name });
  const offers = yield* offersOf(scope, service, clients);
  if (offers.length === 0) return;
  const writer: NameWriter = { scope, origins: originsOf(tree, clients, distances), distances };
  const stem = `${namespace}.${federation}.svc`;
  yield* writeName(writer, stem, [name], offers);
  const shards = new Map<string, Offer[]>();
  for (const offer of offers) addTo(shards, offer.clusterId, offer);
  for (const [clusterId, shard] of shards) {
    const labels = clusterIdLabels(clusterId);
    if (labels === undefined) continue;
    const node = yield* writeName(writer, stem, [...labels, name], shard);
    if (node !== undefined) yield* writeHosts(writer, node, shard);
  }
  yield* writePlaces(writer, name, stem, offers);
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
  { segment }: TreeScope,
  clients: FederationZone["clients"],
  distances: Distances,
): NameWriter["origins"] {
  const clusters = clients === "internal" ? [...segment.clusterViews] : [];
  return [
    ...clusters.map((clusterId) => [clusterId, distances.originOf(clusterId)] as const),
    ...segment.localities,
  ];
}

function* writePlaces(
  writer: NameWriter,
  name: string,
  stem: string,
  offers: readonly Offer[],
): Generator<void> {
  const { scope, distances } = writer;
  const { pace } = scope.tree.segment;
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
    if (pace.isOver(ENDPOINT_UNITS)) yield;
    const { region, zones } = distances.localityOf(offer.clusterId);
    if (region === undefined) continue;
    add([region], offer);
    for (const zone of offer.zone === undefined ? zones : [offer.zone]) add([zone, region], offer);
  }
  for (const [place, some] of byPlace) yield* writeName(writer, `${stem}.${place}`, [name], some);
}

/** Names of single endpoints of a headless service, below the shard's name. */
function* writeHosts(writer: NameWriter, shardNode: number, offers: readonly Offer[]): Generator<void> {
  const { pace } = writer.scope.tree.segment;
  const byLabel = new Map<string, Offer[]>();
  for (const offer of offers) {
    if (offer.kind !== "endpoint") continue;
    if (pace.isOver(ENDPOINT_UNITS)) yield;
    const label = endpointLabel(writer.scope, offer.hostname, offer.bytes, offer.reportedBy);
    addTo(byLabel, label, offer);
  }
  for (const [label, some] of byLabel) yield* writeName(writer, shardNode, [label], some);
}

/** @param parent a node, or the labels of a namespace, see `ServiceScope.name` */
function* writeName(
  { scope, origins, distances }: NameWriter,
  parent: number | string,
  labels: readonly string[],
  offers: readonly Offer[],
): Generator<void, number | undefined> {
  const node = scope.name(parent, labels, offers[0]!.reportedBy);
  if (node === undefined) return undefined;
  const anybody = yield* orderOffers(scope, offers, undefined, distances);
  const variants = new Map<number, RecordSets>();
  for (const [view, origin] of origins) {
    const own = yield* orderOffers(scope, offers, origin, distances);
    if (own.length !== anybody.length || own.some((offer, index) => offer !== anybody[index]))
      variants.set(scope.tree.segment.builder.tables.view(view), yield* recordSets(scope, own));
  }
  scope.write(node, yield* recordSets(scope, anybody), offers[0]!.reportedBy, variants);
  return node;
}

/** Addresses in their order; without any, a CNAME record to the first load balancer's host name. */
function* recordSets(scope: ServiceScope, offers: readonly Offer[]): Generator<void, RecordSets> {
  const { builder, ttl, pace } = scope.tree.segment;
  const sets = new RecordSets();
  const group = builder.tables.leaseGroup(offers.map(({ reportedBy }) => reportedBy));
  const names = offers.filter((offer) => offer.kind === "name");
  for (const offer of offers) {
    if (pace.isOver(ENDPOINT_UNITS)) yield;
    if (offer.kind !== "name") sets.addAddress(offer.bytes, ttl | KEEP_ORDER, group);
  }
  if (sets.isEmpty && names.length > 0) {
    sets.addRdata(RecordType.CNAME, parseName(names[0]!.target), ttl, group);
    names.shift();
  }
  for (const { reportedBy, target } of names)
    scope.report(
      reportedBy,
      "HostNameLeftOut",
      `the load balancer's host name ${target} cannot be a CNAME record next to other records (RFC 1034 section 3.6.2): only the names of its shard have it`,
    );
  return sets;
}
