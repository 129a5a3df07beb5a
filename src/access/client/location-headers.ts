import type { ClientRequest } from "./client.ts";
import { createOriginReader } from "./client-address.ts";
import { type ClientLocation, LOCATION_FACTS, type LocationFact } from "./client-location.ts";

/** The header fields in which proxies in front report a client's location. */
export interface LocationHeaders {
  /** Ranges of addresses: `10.0.0.0/8`, `fd00::/8`, `192.0.2.1`. */
  readonly trustedProxies: readonly string[];
  /** The number of proxies that a request passes, one behind the other; at least 1. */
  readonly hops: number;
  /** The header field of each fact. */
  readonly headers: { readonly [Fact in LocationFact]?: string | undefined };
}

/** A single code: a field that was sent twice arrives with a comma, and is ignored. */
const CODE = /^[A-Za-z0-9-]{1,10}$/;

/**
 * Reads a client's location from header fields. They count only if the socket's address and each hop before it belong to trusted
 * proxies. Every proxy appends the address of its client to X-Forwarded-For, so entries that a client wrote itself are further to
 * the left than this reads.
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
