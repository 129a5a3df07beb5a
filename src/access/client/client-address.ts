import {
  type AddressRange,
  isInRange,
  parseAddressRanges,
  readSocketAddress,
} from "../../dns/address-range.ts";
import type { ClientRequest } from "./client.ts";

/** Proxies in front, and how they say whom they were asked by. */
export interface ProxySettings {
  /** Ranges of addresses: `10.0.0.0/8`, `fd00::/8`, `192.0.2.1`. */
  readonly trustedProxies: readonly string[];
  /** How many of them a request passes at most, one behind the other; at least 1. */
  readonly hops: number;
  /**
   * `x-forwarded-for` or `forwarded` (RFC 7239), to which each proxy appends the address that it was asked from; or any other field, which a
   * single proxy overwrites with that address.
   */
  readonly header: string;
}

/** What is known of the way that a request came. */
export interface RequestOrigin {
  /** The client's address, as far as it is told by somebody who is trusted. */
  readonly address: string | undefined;
  /** How many trusted proxies it passed. */
  readonly proxies: number;
}

/** The real address of the client of a request; undefined where the host knows none. */
export type ClientAddress = (request: ClientRequest) => string | undefined;

/** Without proxies that address is the socket's. */
export const socketAddress: ClientAddress = ({ client }) => client?.address;

/**
 * Finds the client's real address. From the socket on, whoever is a trusted proxy is believed whom it was asked by, one hop at a time and at most
 * `hops`: so what is read was written by a proxy, never by a client, whatever it sends (it stands further to the left). Where a proxy says nothing, or
 * no address, it is itself the client.
 * @throws {RangeError} for a range of addresses that is none
 */
export function createClientAddress(settings: ProxySettings): ClientAddress {
  if (settings.trustedProxies.length === 0) return socketAddress;
  const originOf = createOriginReader(settings);
  return (request) => originOf(request).address;
}

/** The same, with the number of proxies. @throws {RangeError} for a range of addresses that is none */
export function createOriginReader(settings: ProxySettings): (request: ClientRequest) => RequestOrigin {
  const ranges = parseAddressRanges(settings.trustedProxies);
  const header = settings.header.toLowerCase();
  const listed =
    header === "forwarded" ? readForwarded : header === "x-forwarded-for" ? readList : readSingle;
  return (request) => {
    let address = request.client?.address;
    let proxies = 0;
    let told: readonly (string | undefined)[] | undefined;
    while (proxies < settings.hops && isTrusted(address, ranges)) {
      proxies++;
      told ??= listed(request.header(header) ?? "");
      const before = told[told.length - proxies];
      if (before === undefined) break;
      address = before;
    }
    return { address, proxies };
  };
}

function isTrusted(text: string | undefined, ranges: readonly AddressRange[]): boolean {
  const octets = text === undefined ? undefined : readSocketAddress(text);
  return octets !== undefined && ranges.some((range) => isInRange(octets, range));
}

/** Entries that are read, from the right: no proxy is behind so many others. */
const MOST_ENTRIES = 32;

function readList(field: string): (string | undefined)[] {
  return field.split(",").slice(-MOST_ENTRIES).map(addressIn);
}

function readSingle(field: string): (string | undefined)[] {
  return [addressIn(field)];
}

/** `for` of each element (RFC 7239 section 4): an IPv6 address stands in quotes and brackets. */
function readForwarded(field: string): (string | undefined)[] {
  return field
    .split(",")
    .slice(-MOST_ENTRIES)
    .map((element) => {
      const pairs = element.split(";").map((pair) => /^\s*for\s*=\s*("?)([^"]*)\1\s*$/i.exec(pair)?.[2]);
      const told = pairs.filter((text) => text !== undefined);
      return told.length === 1 ? addressIn(told[0]!) : undefined;
    });
}

/** An address with or without a port, as some proxies append it: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function addressIn(text: string): string | undefined {
  const trimmed = text.trim();
  const address =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(trimmed)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(trimmed)?.[1] ?? trimmed;
  return readSocketAddress(address) === undefined ? undefined : address;
}
