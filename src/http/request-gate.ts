import { type ClientAddress, socketAddress } from "../access/client/client-address.ts";
import type { ClientRate } from "../limits/client-rate.ts";
import type { LimitCounters } from "../limits/limit-counters.ts";
import type { Load } from "../limits/load.ts";
import type { HttpRequest, HttpResponse } from "./messages/http-message.ts";
import type { KnowsHost } from "./messages/known-hosts.ts";
import type { Reject } from "./messages/rejection.ts";
import { pathOf } from "./messages/request-path.ts";

/** Checks a request before any other work: returns the response that rejects it, or undefined. */
export type RequestGate = (request: HttpRequest) => HttpResponse | undefined;

/** The parts of a gate. */
export interface RequestGateParts {
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
  /** Called for each rejected request. */
  readonly onRejection?: ((request: HttpRequest, status: number, reason: string) => void) | undefined;
  /** The paths of DNS resources other than `/dns-query`. */
  readonly dnsPaths?: readonly string[];
}

/** Health checks, which must not be rejected. */
const HEALTH = /^(?:https?:\/\/[^/]*)?\/(?:healthz|readyz)(?:\?|$)/;
/**
 * Requests that are also answered under overload: DNS, since a rejection costs as much as an answer, and health checks.
 */
const NEVER_SHED = /^[^?#]*\/(?:dns-query|healthz|readyz|metrics)(?:[?#]|$)/;
/**
 * What changes answers: without it names would leave them, or be out of date. It has bounds of its own (src/http/push/push-limits.ts), and
 * is rejected without a credential before its body is read.
 */
const PUSH = /^(?:https?:\/\/[^/]*)?\/api\/v1\/clusters\/[^?#]/;

/** What secondaries take changes over by. It needs a credential, too, and reads no body. */
const TRANSFER = /^(?:https?:\/\/[^/]*)?\/api\/v1\/transfer\/[^?#]/;

const UNKNOWN_HOST =
  "without TLS and access rules the gateway answers only by IP address, as localhost and as the host of publicUrl: set publicUrl, or access.public";
const TOO_MANY = "this client sends too many requests: try again later";
const BUSY = "the gateway is overloaded: DNS, pushes and transfer go on, everything else must wait";

/** The gate in front of all resources; undefined if it would reject nothing. */
export function createRequestGate(parts: RequestGateParts): RequestGate | undefined {
  const { rate, clientAddress = socketAddress, load, knowsHost, counters, reject, onRejection } = parts;
  const dnsPaths = new Set(parts.dnsPaths);
  const canWait = ({ method, url }: HttpRequest) =>
    !NEVER_SHED.test(url) && !dnsPaths.has(pathOf(url)) && !(isRead(method) ? TRANSFER : PUSH).test(url);
  if (rate === undefined && load === undefined && knowsHost === undefined) return undefined;
  return (request) => {
    // RFC 9110 section 7.4.
    if (knowsHost?.(request.host) === false) return reject(request, 421, UNKNOWN_HOST);
    if (load?.isHigh && canWait(request)) {
      counters.hit("limits.loopDelayMilliseconds");
      onRejection?.(request, 503, BUSY);
      return reject(request, 503, BUSY, { "retry-after": "5" });
    }
    const seconds = rate === undefined ? 0 : rate.take(clientAddress(request));
    if (seconds === 0 || HEALTH.test(request.url)) return undefined;
    counters.hit("clients.requestsPerSecond");
    onRejection?.(request, 429, TOO_MANY);
    return reject(request, 429, TOO_MANY, { "retry-after": String(seconds) });
  };
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
