import { type ClientAddress, socketAddress } from "../access/client.ts";
import type { ClientRate } from "../limits/client-rate.ts";
import type { LimitCounters } from "../limits/counters.ts";
import type { Load } from "../limits/load.ts";
import type { Rejection } from "./messages/errors.ts";
import type { KnowsHost } from "./messages/fields.ts";
import { type HttpRequest, pathOf } from "./messages/message.ts";
import { isUrgent, rowOf } from "./route-table.ts";

/** The parts of a gate. */
interface RequestGateParts {
  /** The limit on requests of each client; default: none. */
  readonly rate?: ClientRate | undefined;
  /** Default: the address of the socket. */
  readonly clientAddress?: ClientAddress;
  /** Default: every host. */
  readonly knowsHost?: KnowsHost | undefined;
  /** Default: no limit. */
  readonly load?: Load | undefined;
  readonly counters: LimitCounters;
  /** The paths of DNS resources other than `/dns-query`. */
  readonly dnsPaths?: readonly string[];
}

const UNKNOWN_HOST: Rejection = {
  code: "UNKNOWN_HOST",
  message:
    "without TLS and access rules the gateway answers only by IP address and as localhost: set access.public, or access.rules",
  headers: {},
};
const OVERLOADED: Rejection = {
  code: "OVERLOADED",
  message: "the gateway is overloaded: DNS, pushes and transfer go on, everything else must wait",
  headers: { "retry-after": "5" },
};
const tooMany = (seconds: number): Rejection => ({
  code: "TOO_MANY_REQUESTS",
  message: "this client sends too many requests: try again later",
  headers: { "retry-after": String(seconds) },
});

/**
 * The gate in front of all resources, which returns why it rejects a request; undefined if it would reject
 * nothing.
 */
export function createRequestGate(
  parts: RequestGateParts,
): ((request: HttpRequest) => Rejection | undefined) | undefined {
  const { rate, clientAddress = socketAddress, load, knowsHost, counters } = parts;
  const dnsPaths = new Set(parts.dnsPaths);
  const canWait = ({ method, url }: HttpRequest) => {
    const path = pathOf(url);
    return !dnsPaths.has(path) && !isUrgent(method, path);
  };
  if (rate === undefined && load === undefined && knowsHost === undefined) return undefined;
  return (request) => {
    // RFC 9110 section 7.4.
    if (knowsHost?.(request.host) === false) return UNKNOWN_HOST;
    if (load?.isHigh && canWait(request)) {
      counters.hit("limits.loopDelayMilliseconds");
      return OVERLOADED;
    }
    const seconds = rate === undefined ? 0 : rate.take(clientAddress(request));
    if (seconds === 0 || rowOf(pathOf(request.url)).isUnlimited) return undefined;
    counters.hit("clients.requestsPerSecond");
    return tooMany(seconds);
  };
}
