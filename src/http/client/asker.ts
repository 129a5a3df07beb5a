import type { Credentials } from "../../access/credentials.ts";
import {
  type AddressRange,
  isInRange,
  parseAddressRanges,
  readSocketAddress,
} from "../../dns/address-range.ts";
import { readSourceCluster, SOURCE_CLUSTER_OPTION } from "../../resolve/source-cluster.ts";
import type { ClientPlace } from "../../zone/client-place.ts";
import type { Connection } from "../connection.ts";
import type { HttpRequest } from "../exchange.ts";

/** For whom a query is answered. */
export interface Asker {
  /** The source cluster, undefined for outside. */
  readonly view: string | undefined;
  /** Whether somebody else may get another answer to the same request: no shared cache may keep it. */
  readonly isPrivate: boolean;
  /** Outside: where the client is, so that federations answer with the shards there first. */
  readonly place?: ClientPlace | undefined;
  /** Whether the client's location decided. */
  readonly byLocation?: boolean | undefined;
}

/** Clients whose EDNS option counts for a cluster. */
export interface TrustedClients {
  readonly clusterId: string;
  /** Addresses of sockets: `10.0.0.0/8`, `::1`. */
  readonly addresses: readonly string[];
}

/** What tells who asks, beside the path. */
export interface AskerSettings {
  /** Default: an Authorization field says nothing. */
  readonly credentials?: Credentials;
  /** The EDNS option code of the source cluster. */
  readonly optionCode?: number;
  readonly trusted?: readonly TrustedClients[];
  /** The cluster that everybody asks as, whatever else says so. */
  readonly view?: string | undefined;
}

const OUTSIDE: Asker = { view: undefined, isPrivate: false };

/** Finds out for whom a query on `/dns-query` or `/resolve` is answered; undefined for a bearer token that is not known. */
export interface AskerReader {
  /** Whether the Authorization field counts: caches have to keep requests with it apart (RFC 9111 section 4.1). */
  readonly variesByCredential: boolean;
  /** At once, where there is no Authorization field to look at. The octets of `query` are only lent. */
  read(request: HttpRequest, query: Uint8Array): Asker | Promise<Asker | undefined>;
}

/** Finds it out for queries that no request carries too. */
export interface AddressAskerReader extends AskerReader {
  /** By EDNS option and address alone. */
  readByAddress(query: Uint8Array, connection: Partial<Connection> | undefined): Asker;
}

/**
 * The source cluster by credential and by EDNS option. The option counts from a client that may speak for the cluster: by its
 * bearer token, or by the address of its socket. Any other one is ignored.
 * @throws {RangeError} for a trusted address that is none
 */
export function createAskerReader(settings: AskerSettings): AddressAskerReader {
  const { credentials, optionCode = SOURCE_CLUSTER_OPTION } = settings;
  const trusted = readTrusted(settings.trusted ?? []);
  if (settings.view !== undefined) {
    const asker: Asker = { view: settings.view, isPrivate: false };
    return { variesByCredential: false, readByAddress: () => asker, read: () => asker };
  }

  const isTrusted = (clusterId: string, connection: Partial<Connection> | undefined): boolean => {
    const ranges = trusted.get(clusterId);
    if (ranges === undefined) return false;
    const address = readSocketAddress(connection?.clientAddress ?? "");
    return address !== undefined && ranges.some((range) => isInRange(address, range));
  };

  const readByAddress = (query: Uint8Array, connection: Partial<Connection> | undefined): Asker => {
    if (trusted.size === 0) return OUTSIDE;
    const named = readSourceCluster(query, optionCode);
    if (named === undefined) return OUTSIDE;
    return { view: isTrusted(named, connection) ? named : undefined, isPrivate: true };
  };

  const readByCredential = async (
    authorization: string,
    query: Uint8Array,
    connection: Partial<Connection> | undefined,
  ): Promise<Asker | undefined> => {
    // The octets are only lent until the first wait.
    const named = readSourceCluster(query, optionCode);
    const clusters = await credentials!.clustersOf(authorization);
    if (clusters === undefined)
      return {
        view: named !== undefined && isTrusted(named, connection) ? named : undefined,
        isPrivate: true,
      };
    if (clusters.size === 0) return undefined;
    if (named !== undefined && (clusters.has(named) || isTrusted(named, connection)))
      return { view: named, isPrivate: true };
    // A token of several clusters says only together with the option which one asks.
    return { view: clusters.size === 1 ? [...clusters][0] : undefined, isPrivate: true };
  };

  return {
    variesByCredential: credentials !== undefined,
    readByAddress,
    read(request, query) {
      const authorization = credentials === undefined ? null : request.header("authorization");
      return authorization === null
        ? readByAddress(query, request.connection)
        : readByCredential(authorization, query, request.connection);
    },
  };
}

function readTrusted(trusted: readonly TrustedClients[]): Map<string, AddressRange[]> {
  const byCluster = new Map<string, AddressRange[]>();
  for (const { clusterId, addresses } of trusted)
    byCluster.set(clusterId, [...(byCluster.get(clusterId) ?? []), ...parseAddressRanges(addresses)]);
  return byCluster;
}
