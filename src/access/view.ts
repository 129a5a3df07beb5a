import { type AddressRange, isInRange, parseAddressRanges, readSocketAddress } from "../dns/address.ts";
import { readSourceCluster, SOURCE_CLUSTER_OPTION } from "../resolve/source-cluster.ts";
import { type Locality, localityView } from "../zone/frame.ts";
import type { PushAuthority } from "./authority.ts";
import {
  type ClientLocation,
  type ClientRequest,
  createLocationHeaders,
  LOCATION_FACTS,
  type LocationFact,
  type LocationHeaders,
} from "./client.ts";
import { andThen } from "./url-tokens.ts";

/** The perspective of a query: a cluster, or outside all of them. */
export interface View {
  /** The source cluster; undefined for outside. */
  readonly cluster: string | undefined;
  /** Outside: the client's region and zone, whose shards come first in answers of federations. */
  readonly locality?: Locality | undefined;
  /** Whether the client's location decided the view. */
  readonly isByLocation?: boolean | undefined;
  /**
   * Whether another client may get another view for the same request: then no shared cache may keep the
   * answer.
   */
  readonly isPrivate: boolean;
}

/** Clients whose EDNS option may name a cluster. */
interface TrustedClients {
  readonly clusterId: string;
  /** Addresses or ranges of sockets: `10.0.0.0/8`, `::1`. */
  readonly addresses: readonly string[];
}

/** The source of the client's location (`cf`: the host), and the rules over it. */
export type LocationSettings = {
  readonly rules: readonly LocationRule[];
} & ({ readonly source: "cf" } | ({ readonly source: "headers" } & LocationHeaders));

/** Finds the clusters of a bearer token. */
type ClusterTokens = Pick<PushAuthority, "clustersOf">;

/** The settings that decide a query's view, if neither the access rule, the path nor the listener does. */
export interface ViewSettings {
  /** Default: Authorization fields are ignored. */
  readonly credentials?: ClusterTokens | undefined;
  /** The EDNS option code of the source cluster. */
  readonly optionCode?: number;
  readonly trusted?: readonly TrustedClients[];
  /** Default: the client's location is ignored. */
  readonly location?: LocationSettings | undefined;
}

/** Finds the view of a query. */
export interface ViewReader {
  /**
   * Whether the Authorization field counts: then caches have to keep requests with different fields apart
   * (RFC 9111 section 4.1).
   */
  readonly variesByCredential: boolean;
  /**
   * The view of a query; without a promise if there is no Authorization field. Undefined for an unknown
   * bearer token.
   * @param query its bytes are valid until the first wait only
   */
  read(request: ClientRequest, query: Uint8Array): View | Promise<View | undefined>;
}

const OUTSIDE: View = { cluster: undefined, isPrivate: false };

/**
 * Finds the view by credential and EDNS option, then by location. The option counts if the client's bearer
 * token or socket address may name that cluster. Other options are ignored.
 * @param hasCluster whether a cluster has a view
 * @throws {RangeError} for an invalid range of addresses
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
    // The bytes are valid until the first wait only.
    const named = readSourceCluster(query, optionCode);
    const clusters = await known.clustersOf(authorization);
    if (clusters?.size === 0) return undefined;
    if (named !== undefined && (clusters?.has(named) === true || isTrusted(named, request)))
      return { cluster: named, isPrivate: true };
    // A token of several clusters needs the option to name one of them.
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

/** The name of a view in a generation and its stages. */
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
 * Adds the client's location to views from outside. Every answer is then for one client only. Vary would not
 * help: a cache in front of the proxy that adds the header sees all requests without it (RFC 9111 section
 * 4.1).
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
    return choose(locationOf(request)) ?? { ...view, isPrivate: true };
  };
}

/** Gives the clients of a location the view of a cluster, or outside the shards near them first. */
export interface LocationRule {
  /**
   * Each listed fact must have one of its values; letters are folded. Absent: the rule matches every client.
   */
  readonly when?: { readonly [Fact in LocationFact]?: readonly string[] | undefined } | undefined;
  /** A cluster id; instead of `region`. */
  readonly view?: string | undefined;
  /** The region and zone in nodes' labels. */
  readonly region?: string | undefined;
  readonly zone?: string | undefined;
}

/**
 * Finds the view of a client by its location, which is undefined if the host does not know it. The first rule
 * that matches decides. A rule with an unknown cluster is skipped.
 */
export function createLocationRules(
  rules: readonly LocationRule[],
  hasCluster: (clusterId: string) => boolean,
): (location: ClientLocation | undefined) => View | undefined {
  const prepared = rules.map(({ when = {}, view, region, zone }) => ({
    tests: LOCATION_FACTS.flatMap((fact) => {
      const values = when[fact];
      return values === undefined ? [] : [{ fact, values: new Set(values.map(fold)) }];
    }),
    given: {
      cluster: view,
      locality: view === undefined && region !== undefined ? { region, zone } : undefined,
      isPrivate: true,
      isByLocation: true,
    },
  }));
  return (location) =>
    prepared.find(
      ({ tests, given }) =>
        tests.every(({ fact, values }) => {
          const value = location?.[fact];
          return value !== undefined && values.has(fold(value));
        }) &&
        (given.cluster === undefined || hasCluster(given.cluster)),
    )?.given;
}

function fold(text: string): string {
  return text.toUpperCase();
}
