import { type ClientAddress, socketAddress } from "../access/client.ts";
import { readPathToken } from "../access/url-tokens.ts";
import type { ClientRate } from "../limits/client-rate.ts";
import type { LimitCounters } from "../limits/counters.ts";
import type { Load } from "../limits/load.ts";
import type { Reject } from "./messages/errors.ts";
import type { KnowsHost } from "./messages/fields.ts";
import type { HttpRequest, HttpResponse } from "./messages/message.ts";
import { pathOf } from "./messages/message.ts";
import { isUrgent, rowOf } from "./path-table.ts";

/** Checks a request before any other work: returns the response that rejects it, or undefined. */
export type RequestGate = (request: HttpRequest) => HttpResponse | undefined;

/** What the client gets. */
export interface Rejection {
  readonly status: number;
  readonly code: string;
  readonly reason: string;
}

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
  readonly reject: Reject;
  /** Called for each request that is rejected because of load or of its client's rate. */
  readonly onRejection?: ((request: HttpRequest, rejection: Rejection) => void) | undefined;
  /** The paths of DNS resources other than `/dns-query`. */
  readonly dnsPaths?: readonly string[];
}

const UNKNOWN_HOST =
  "without TLS and access rules the gateway answers only by IP address, as localhost and as the host of publicUrl: set publicUrl, or access.public";
const TOO_MANY: Rejection = {
  status: 429,
  code: "TOO_MANY_REQUESTS",
  reason: "this client sends too many requests: try again later",
};
const OVERLOADED: Rejection = {
  status: 503,
  code: "OVERLOADED",
  reason: "the gateway is overloaded: DNS, pushes and transfer go on, everything else must wait",
};

/** The gate in front of all resources; undefined if it would reject nothing. */
export function createRequestGate(parts: RequestGateParts): RequestGate | undefined {
  const { rate, clientAddress = socketAddress, load, knowsHost, counters, reject, onRejection } = parts;
  const dnsPaths = new Set(parts.dnsPaths);
  const canWait = ({ method, url }: HttpRequest) => {
    const path = pathOf(url);
    return !dnsPaths.has(path) && !isUrgent(rowOf(readPathToken(path)?.url ?? path), method);
  };
  if (rate === undefined && load === undefined && knowsHost === undefined) return undefined;
  const rejectFor = (request: HttpRequest, rejection: Rejection, seconds: number) => {
    onRejection?.(request, rejection);
    const { status, code, reason } = rejection;
    return reject(request, status, code, reason, { "retry-after": String(seconds) });
  };
  return (request) => {
    // RFC 9110 section 7.4.
    if (knowsHost?.(request.host) === false) return reject(request, 421, "UNKNOWN_HOST", UNKNOWN_HOST);
    if (load?.isHigh && canWait(request)) {
      counters.hit("limits.loopDelayMilliseconds");
      return rejectFor(request, OVERLOADED, 5);
    }
    const seconds = rate === undefined ? 0 : rate.take(clientAddress(request));
    if (seconds === 0 || rowOf(pathOf(request.url)).isUnlimited) return undefined;
    counters.hit("clients.requestsPerSecond");
    return rejectFor(request, TOO_MANY, seconds);
  };
}
