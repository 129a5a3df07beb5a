import {
  type AddressRange,
  isInRange,
  parseAddressRanges,
  readSocketAddress,
} from "../../dns/address-range.ts";
import { readSourceCluster, SOURCE_CLUSTER_OPTION } from "../../resolve/source-cluster.ts";
import { type Locality, localityView } from "../../zone/locality.ts";
import type { PushAuthority } from "../authority.ts";
import type { ClientRequest } from "../client/client.ts";
import { createLocationHeaders, type LocationHeaders } from "../client/location-headers.ts";
import { andThen } from "../maybe-promise.ts";
import { createLocationRules, type LocationRule } from "./location-rules.ts";

/** From where a query sees the clusterset: from a cluster, or from outside of all. */
export interface View {
  /** The source cluster; undefined for outside. */
  readonly cluster: string | undefined;
  /** Outside: where the client is, so that federations answer with the shards there first. */
  readonly locality?: Locality | undefined;
  /** Whether the client's location decided. */
  readonly isByLocation?: boolean | undefined;
  /** Whether another client may have another view with the same request: then no shared cache may keep the answer. */
  readonly isPrivate: boolean;
}

/** Clients whose EDNS option counts for a cluster. */
export interface TrustedClients {
  readonly clusterId: string;
  /** Addresses of sockets: `10.0.0.0/8`, `::1`. */
  readonly addresses: readonly string[];
}

/** Where the client's location is from, `cf` being what the host says of the client, and what it decides. */
export type LocationSettings = {
  readonly rules: readonly LocationRule[];
} & ({ readonly source: "cf" } | ({ readonly source: "headers" } & LocationHeaders));

/** Tells the clusters of a bearer token. */
export type ClusterTokens = Pick<PushAuthority, "clustersOf">;

/** What decides the view of a query, where neither the access rule, the path nor the listener does. */
export interface ViewSettings {
  /** Default: an Authorization field says nothing. */
  readonly credentials?: ClusterTokens | undefined;
  /** The EDNS option code of the source cluster. */
  readonly optionCode?: number;
  readonly trusted?: readonly TrustedClients[];
  /** Default: the client's location decides nothing. */
  readonly location?: LocationSettings | undefined;
}

/** Finds the view of a query. */
export interface ViewReader {
  /** Whether the Authorization field counts: caches have to keep requests with it apart (RFC 9111 section 4.1). */
  readonly variesByCredential: boolean;
  /**
   * At once, where there is no Authorization field to look at. Undefined for a bearer token that is not known.
   * @param query whose bytes are only lent
   */
  read(request: ClientRequest, query: Uint8Array): View | Promise<View | undefined>;
}

const OUTSIDE: View = { cluster: undefined, isPrivate: false };

/**
 * Finds the view by credential and by EDNS option, then by location. The option counts from a client that may speak for the cluster: by
 * its bearer token, or by the address of its socket. Any other one is ignored.
 * @param hasCluster whether there is a view of a cluster
 * @throws {RangeError} for a range of addresses that is none
 */
export function createViewReader(
  settings: ViewSettings,
  hasCluster: (clusterId: string) => boolean,
): ViewReader {
  const { credentials, optionCode = SOURCE_CLUSTER_OPTION, location } = settings;
  const trusted = readTrusted(settings.trusted ?? []);
  const locate = location === undefined ? undefined : createLocate(location, hasCluster);

  const isTrusted = (clusterId: string, { client }: ClientRequest): boolean => {
    const ranges = trusted.get(clusterId);
    if (ranges === undefined) return false;
    const address = readSocketAddress(client?.address ?? "");
    return address !== undefined && ranges.some((range) => isInRange(address, range));
  };

  const readByAddress = (request: ClientRequest, query: Uint8Array): View => {
    const named = trusted.size === 0 ? undefined : readSourceCluster(query, optionCode);
    if (named === undefined) return OUTSIDE;
    return { cluster: isTrusted(named, request) ? named : undefined, isPrivate: true };
  };

  const readByCredential = async (
    known: ClusterTokens,
    authorization: string,
    request: ClientRequest,
    query: Uint8Array,
  ): Promise<View | undefined> => {
    // The bytes are only lent until the first wait.
    const named = readSourceCluster(query, optionCode);
    const clusters = await known.clustersOf(authorization);
    if (clusters?.size === 0) return undefined;
    if (named !== undefined && (clusters?.has(named) === true || isTrusted(named, request)))
      return { cluster: named, isPrivate: true };
    // A token of several clusters says only together with the option which one asks.
    return { cluster: clusters?.size === 1 ? [...clusters][0] : undefined, isPrivate: true };
  };

  const read = (request: ClientRequest, query: Uint8Array): View | Promise<View | undefined> => {
    const authorization = credentials === undefined ? null : request.header("authorization");
    return authorization === null
      ? readByAddress(request, query)
      : readByCredential(credentials!, authorization, request, query);
  };

  return {
    variesByCredential: credentials !== undefined,
    read:
      locate === undefined
        ? read
        : (request, query) =>
            andThen<View | undefined, View | undefined>(
              read(request, query),
              (view) => view && locate(request, view),
            ) as ReturnType<ViewReader["read"]>,
  };
}

/** The name that an image and its stages have for a view. */
export function viewName({ cluster, locality }: View): string | undefined {
  return locality === undefined ? cluster : localityView(locality);
}

function readTrusted(trusted: readonly TrustedClients[]): Map<string, AddressRange[]> {
  const byCluster = new Map<string, AddressRange[]>();
  for (const { clusterId, addresses } of trusted)
    byCluster.set(clusterId, [...(byCluster.get(clusterId) ?? []), ...parseAddressRanges(addresses)]);
  return byCluster;
}

/**
 * Lets the client's location decide for queries from outside. Every answer is for one client alone. A Vary field could not tell caches
 * apart: a cache in front of the proxy that adds the header sees requests without it, which are all the same to it (RFC 9111 section 4.1).
 */
function createLocate(
  settings: LocationSettings,
  hasCluster: (clusterId: string) => boolean,
): (request: ClientRequest, view: View) => View {
  const choose = createLocationRules(settings.rules, hasCluster);
  const locationOf =
    settings.source === "headers"
      ? createLocationHeaders(settings)
      : ({ client }: ClientRequest) => client?.location;
  return (request, view) => {
    if (view.cluster !== undefined) return view;
    const choice = choose(locationOf(request));
    return choice === undefined
      ? { ...view, isPrivate: true }
      : { cluster: choice.view, locality: choice.locality, isPrivate: true, isByLocation: true };
  };
}
