import type { ClientRequest } from "./client.ts";
import { createOriginReader } from "./client-address.ts";
import { type ClientLocation, LOCATION_FACTS, type LocationFact } from "./client-location.ts";

/** How proxies in front say where a client is. */
export interface LocationHeaders {
  /** Ranges of addresses: `10.0.0.0/8`, `fd00::/8`, `192.0.2.1`. */
  readonly trustedProxies: readonly string[];
  /** How many of them a request passes, one behind the other; at least 1. */
  readonly hops: number;
  /** The header field of each fact. */
  readonly headers: { readonly [Fact in LocationFact]?: string | undefined };
}

/** Codes alone: a field that was sent twice arrives with a comma, and says nothing. */
const CODE = /^[A-Za-z0-9-]{1,10}$/;

/**
 * Reads where a client is from header fields. They count only where the socket's address is that of a trusted proxy, and so is
 * each hop before it: every proxy appends the address that it was asked from to X-Forwarded-For, so that what a client
 * wrote there stands further to the left than is read.
 * @throws {RangeError} for a range of addresses that is none
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
