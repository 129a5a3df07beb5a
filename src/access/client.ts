import { type AddressRange, isInRange, parseAddressRanges, readSocketAddress } from "../dns/address.ts";
import { readSourceCluster, SOURCE_CLUSTER_OPTION } from "../resolve/query.ts";
import { type Locality, localityView } from "../zone/world.ts";
import { andThen } from "./url-tokens.ts";

/**
 * What a host knows about the sender of a request or a query. Members are computed when they are read, since
 * most seldom are.
 */
export interface Client {
  /** The IP address of the socket; undefined if the host does not know it. */
  readonly address: string | undefined;
  /** Whether the client has a TLS certificate, and whether the host trusts it. */
  readonly certificate: "none" | "refused" | "verified";
  /** The names in the certificate; absent unless it is verified. Reading them costs more than a query. */
  readonly certificateIdentity?: CertificateIdentity | undefined;
  /** Whether all requests of a connection have this very object. */
  readonly isOfConnection?: boolean;
  /** The client's location; absent if the host does not know it. */
  readonly location?: ClientLocation | undefined;
}

/** A client's certificate. */
export type ClientCertificate = Partial<Pick<Client, "certificate" | "certificateIdentity">>;

/** A client and the header fields beside its query; a message of plain DNS has none. */
export interface ClientRequest {
  readonly client: Partial<Client> | undefined;
  /** A header field by its name in lower case; null if it is absent. */
  header(name: string): string | null;
}

/** The proxies in front of the gateway, and the header field in which they report a client's address. */
export interface ProxySettings {
  /** Ranges of addresses: `10.0.0.0/8`, `fd00::/8`, `192.0.2.1`. */
  readonly trustedProxies: readonly string[];
  /** The most proxies that a request passes, one behind the other; at least 1. */
  readonly hops: number;
  /**
   * `x-forwarded-for` or `forwarded` (RFC 7239), to which each proxy appends the address of its client; or
   * any other field, which a single proxy overwrites with that address.
   */
  readonly header: string;
}

/** The origin of a request, behind the trusted proxies. */
interface RequestOrigin {
  /** The client's address, as the last trusted proxy reported it. */
  readonly address: string | undefined;
  /** The number of trusted proxies that the request passed. */
  readonly proxies: number;
}

/** Finds the real address of a request's client; undefined if the host does not know it. */
export type ClientAddress = (request: ClientRequest) => string | undefined;

/** The address of the socket, for gateways without proxies. */
export const socketAddress: ClientAddress = ({ client }) => client?.address;

/**
 * Finds the client's real address. It starts at the socket. If that address is a trusted proxy, the address
 * that the proxy reported is next, for at most `hops` proxies. So only entries of proxies count; entries that
 * a client wrote itself are further to the left. A proxy that reports no address is itself the client.
 * @throws {RangeError} for an invalid range of addresses
 */
export function createClientAddress(settings: ProxySettings): ClientAddress {
  if (settings.trustedProxies.length === 0) return socketAddress;
  const originOf = createOriginReader(settings);
  return (request) => originOf(request).address;
}

/**
 * Finds the client's address and the number of proxies.
 * @throws {RangeError} for an invalid range of addresses
 */
function createOriginReader(settings: ProxySettings): (request: ClientRequest) => RequestOrigin {
  const ranges = parseAddressRanges(settings.trustedProxies);
  const header = settings.header.toLowerCase();
  const listed =
    header === "forwarded" ? readForwarded : header === "x-forwarded-for" ? readList : readSingle;
  return (request) => {
    let address = request.client?.address;
    let proxies = 0;
    let reported: readonly (string | undefined)[] | undefined;
    while (proxies < settings.hops && isTrusted(address, ranges)) {
      proxies++;
      reported ??= listed(request.header(header) ?? "");
      const previous = reported[reported.length - proxies];
      if (previous === undefined) break;
      address = previous;
    }
    return { address, proxies };
  };
}

function isTrusted(text: string | undefined, ranges: readonly AddressRange[]): boolean {
  const address = text === undefined ? undefined : readSocketAddress(text);
  return address !== undefined && ranges.some((range) => isInRange(address, range));
}

/** The most entries that are read, from the right: no chain of proxies is longer. */
const MOST_ENTRIES = 32;

function readList(field: string): (string | undefined)[] {
  return field.split(",").slice(-MOST_ENTRIES).map(addressIn);
}

function readSingle(field: string): (string | undefined)[] {
  return [addressIn(field)];
}

/**
 * `for` of each element (RFC 7239 section 4): an IPv6 address has quotes and brackets. Some proxies quote
 * what a client wrote, such as its `Host`.
 */
function readForwarded(field: string): (string | undefined)[] {
  const isSeparating = (quoted: string) => /[,;]/.test(quoted);
  return field
    .replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => (isSeparating(quoted) ? '""' : quoted))
    .split(",")
    .slice(-MOST_ENTRIES)
    .map((element) => {
      const pairs = element.split(";").map((pair) => /^\s*for\s*=\s*("?)([^"]*)\1\s*$/i.exec(pair)?.[2]);
      const values = pairs.filter((text) => text !== undefined);
      return values.length === 1 ? addressIn(values[0]!) : undefined;
    });
}

/** An address, with or without the port that some proxies append: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function addressIn(text: string): string | undefined {
  const trimmed = text.trim();
  const address =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(trimmed)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(trimmed)?.[1] ?? trimmed;
  return readSocketAddress(address) === undefined ? undefined : address;
}

/** The facts about a client's location. Nothing finer is read. */
export const LOCATION_FACTS = ["country", "continent", "regionCode", "colo"] as const;

export type LocationFact = (typeof LOCATION_FACTS)[number];

/**
 * A client's location, from the host or a proxy: `country` in ISO 3166-1 alpha-2 (`CH`), `continent` in two
 * letters (`EU`), `regionCode` as the second part of ISO 3166-2 (`TX`), `colo` as the airport code of the
 * data center that took the request (`ZRH`).
 */
export type ClientLocation = { readonly [Fact in LocationFact]?: string | undefined };

/** The header fields in which proxies in front report a client's location. */
export interface LocationHeaders extends Pick<ProxySettings, "trustedProxies" | "hops"> {
  /** The header field of each fact. */
  readonly headers: { readonly [Fact in LocationFact]?: string | undefined };
}

/** A single code: a field that was sent twice arrives with a comma, and is ignored. */
const CODE = /^[A-Za-z0-9-]{1,10}$/;

/**
 * Reads a client's location from header fields. They count only if the socket's address and each hop before
 * it belong to trusted proxies. Every proxy appends the address of its client to X-Forwarded-For, so entries
 * that a client wrote itself are further to the left than this reads.
 * @throws {RangeError} for an invalid range of addresses
 */
export function createLocationHeaders(
  settings: LocationHeaders,
): (request: ClientRequest) => ClientLocation | undefined {
  const { hops } = settings;
  const originOf = createOriginReader({ ...settings, header: "x-forwarded-for" });
  const fields = LOCATION_FACTS.flatMap((fact) => {
    const name = settings.headers[fact];
    return name === undefined ? [] : [[fact, name.toLowerCase()] as const];
  });

  return (request) => {
    if (originOf(request).proxies < hops) return undefined;
    const location: { [Fact in LocationFact]?: string } = {};
    for (const [fact, name] of fields) {
      const value = request.header(name);
      if (value !== null && CODE.test(value)) location[fact] = value;
    }
    return location;
  };
}

/** The names in a TLS client certificate (RFC 5280 section 4.2.1.6). */
export interface CertificateIdentity {
  /** SHA-256 over the certificate in DER: 64 hex digits in lower case. */
  readonly fingerprintSha256: string;
  /**
   * The subject's common name; undefined if there is none, or several. For messages only: authorities check
   * the names below.
   */
  readonly commonName: string | undefined;
  /** Subject alternative names: URIs (such as those of SPIFFE), unchanged. */
  readonly uris: readonly string[];
  /** Subject alternative names: DNS names in lower case. */
  readonly dnsNames: readonly string[];
}

/** Selects certificates of a trusted authority. If both members are set, both have to match. */
export interface CertificatePattern {
  /** A URI or DNS name that the certificate's subject alternative names contain. */
  readonly san?: string | undefined;
  /** The certificate's SHA-256: 64 hex digits; colons are ignored. */
  readonly fingerprintSha256?: string | undefined;
}

/** Whether a pattern selects a certificate. */
export function fitsCertificate(
  { san, fingerprintSha256 }: CertificatePattern,
  identity: CertificateIdentity,
): boolean {
  if (san === undefined && fingerprintSha256 === undefined) return false;
  const isNamed =
    san === undefined || identity.uris.includes(san) || identity.dnsNames.includes(san.toLowerCase());
  const isPinned =
    fingerprintSha256 === undefined || plainFingerprint(fingerprintSha256) === identity.fingerprintSha256;
  return isNamed && isPinned;
}

/** A certificate in words, for messages. */
export function describeCertificate({ uris, dnsNames, fingerprintSha256 }: CertificateIdentity): string {
  const names = [...uris, ...dnsNames].slice(0, 10).map((name) => JSON.stringify(name.slice(0, 200)));
  return `${names.length === 0 ? "no name" : `the names ${names.join(", ")}`} and the SHA-256 fingerprint ${fingerprintSha256}`;
}

/** A fingerprint in the form of `CertificateIdentity`. */
export function plainFingerprint(text: string): string {
  return text.replaceAll(":", "").toLowerCase();
}

/**
 * Why a credential is rejected, with the status. The codes are stable: docs/reference/push-api.md lists them.
 * RFC 6750 section 3.1: 401 for an invalid token, 403 for a valid one with insufficient rights.
 */
export const ACCESS_STATUS = {
  TOKEN_REQUIRED: 401,
  UNKNOWN_TOKEN: 401,
  UNKNOWN_ISSUER: 401,
  UNKNOWN_KEY: 401,
  TOKEN_REFUSED: 401,
  TOKEN_TOO_LONG: 401,
  TOKEN_EXPIRED: 401,
  WRONG_AUDIENCE: 401,
  UNKNOWN_SUBJECT: 403,
  CERTIFICATE_REFUSED: 401,
  UNKNOWN_CERTIFICATE: 403,
  OTHER_CLUSTER: 403,
  KEYS_UNAVAILABLE: 503,
} as const;

export type AccessRejection = keyof typeof ACCESS_STATUS;

/** The message of `CERTIFICATE_REFUSED`. */
export const UNTRUSTED_CERTIFICATE =
  "no authority that this gateway trusts (tls.clientCaFile) issued the client certificate, or the certificate is not valid now";

/** A request without a valid credential. The message has the next step and no secret. */
export class AccessRejected extends Error {
  readonly code: AccessRejection;

  /** The name of the request's credential; undefined if the gateway does not know it. */
  readonly credential: string | undefined;

  constructor(code: AccessRejection, message: string, credential?: string) {
    super(message);
    this.code = code;
    this.credential = credential;
  }
}

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
export interface ClusterTokens {
  /**
   * The clusters of the bearer token in an Authorization field (RFC 6750): none for an unknown token.
   * Undefined if the field is absent or has no bearer token.
   */
  clustersOf(authorization: string | undefined): Promise<ReadonlySet<string> | undefined>;
}

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
interface LocationRule {
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
function createLocationRules(
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
