import { type ClientAddress, socketAddress } from "../access/client/client-address.ts";
import type { ClientRate } from "../limits/client-rate.ts";
import type { LimitCounters } from "../limits/limit-counters.ts";
import type { Load } from "../limits/load.ts";
import type { HttpRequest, HttpResponse } from "./exchange/exchange.ts";
import type { Refuse } from "./exchange/refusal.ts";
import { pathOf } from "./exchange/request-path.ts";
import type { KnowsHost } from "./known-hosts.ts";

/** Looks at a request before anything is done for it: the response that refuses it, or undefined. */
export type RequestGate = (request: HttpRequest) => HttpResponse | undefined;

/** What a gate is put together from. */
export interface RequestGateParts {
  /** How much each client may ask for; default: any number. */
  readonly rate?: ClientRate | undefined;
  /** Default: the socket's. */
  readonly clientAddress?: ClientAddress;
  /** Default: every host. */
  readonly knowsHost?: KnowsHost | undefined;
  /** Default: there is always room. */
  readonly load?: Load | undefined;
  readonly counters: LimitCounters;
  readonly refuse: Refuse;
  /** Told of each request that is turned away. */
  readonly onRefusal?: ((request: HttpRequest, status: number, reason: string) => void) | undefined;
  /** Paths of DNS resources with another name than `dns-query`. */
  readonly dnsPaths?: readonly string[];
}

/** Says how the process is; what watches it must not be turned away. */
const HEALTH = /^(?:https?:\/\/[^/]*)?\/(?:healthz|readyz)(?:\?|$)/;
/**
 * What is done under overload, too: DNS, since refusing a query costs what answering it does, and what tells how things are.
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

/** The gate in front of all resources; undefined where it would let everything pass. */
export function createRequestGate(parts: RequestGateParts): RequestGate | undefined {
  const { rate, clientAddress = socketAddress, load, knowsHost, counters, refuse, onRefusal } = parts;
  const dnsPaths = new Set(parts.dnsPaths);
  const canWait = ({ method, url }: HttpRequest) =>
    !NEVER_SHED.test(url) && !dnsPaths.has(pathOf(url)) && !(isRead(method) ? TRANSFER : PUSH).test(url);
  if (rate === undefined && load === undefined && knowsHost === undefined) return undefined;
  return (request) => {
    // RFC 9110 section 7.4.
    if (knowsHost?.(request.host) === false) return refuse(request, 421, UNKNOWN_HOST);
    if (load?.isHigh && canWait(request)) {
      counters.hit("limits.loopDelayMilliseconds");
      onRefusal?.(request, 503, BUSY);
      return refuse(request, 503, BUSY, { "retry-after": "5" });
    }
    const seconds = rate === undefined ? 0 : rate.take(clientAddress(request));
    if (seconds === 0 || HEALTH.test(request.url)) return undefined;
    counters.hit("clients.requestsPerSecond");
    onRefusal?.(request, 429, TOO_MANY);
    return refuse(request, 429, TOO_MANY, { "retry-after": String(seconds) });
  };
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
