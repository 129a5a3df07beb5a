import { parseName } from "../../dns/name.ts";
import type { ClustersetService } from "../../merge/clusterset.ts";
import type { Distances, Origin } from "./distances.ts";
import type { ServiceScope } from "./tree-scope.ts";

interface OfferBase {
  /** The shard. */
  readonly clusterId: string;
  readonly reportedBy: string;
  /** Topology zone of an endpoint. */
  readonly zone: string | undefined;
}

/** An address or host name of a shard. */
export type Offer =
  | (OfferBase & { readonly kind: "clusterIP" | "external"; readonly bytes: Uint8Array })
  | (OfferBase & {
      readonly kind: "endpoint";
      readonly bytes: Uint8Array;
      readonly hostname: string | undefined;
    })
  | (OfferBase & { readonly kind: "name"; readonly target: string });

/** All addresses and host names of a service's shards for a kind of clients. Invalid ones become findings. */
export function offersOf(
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
    for (const target of externalNames) {
      try {
        parseName(target);
        offers.push({ ...base, kind: "name", target });
      } catch (error) {
        scope.report(
          clusterId,
          "InvalidHostName",
          `the load balancer's host name is not a DNS name (${(error as Error).message}): it is left out`,
        );
      }
    }
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
export function orderOffers(
  offers: readonly Offer[],
  origin: Origin | undefined,
  distances: Distances,
): Offer[] {
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
