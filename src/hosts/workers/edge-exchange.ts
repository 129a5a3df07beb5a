import type { Connection } from "../../http/connection.ts";
import type { DnsResource } from "../../http/dns-resource.ts";
import type { HttpResponse } from "../../http/exchange.ts";
import { FetchRequest } from "../../http/fetch-exchange.ts";
import { locationOf } from "./cf-location.ts";

type EdgeRequest = Request<unknown, IncomingRequestCfProperties>;

const DNS_QUERY = "/dns-query";
const QUESTION_MARK = 0x3f;

/** What Cloudflare says of a connection. It is looked at only where it counts, since every look leaves JavaScript. */
export class EdgeConnection implements Connection {
  readonly clientCertificate = "none";
  readonly #request: EdgeRequest;

  constructor(request: EdgeRequest) {
    this.#request = request;
  }

  /** Cloudflare overwrites what the client sends by that name. */
  get clientAddress(): string | undefined {
    return this.#request.headers.get("cf-connecting-ip") ?? undefined;
  }

  get location() {
    return locationOf(this.#request.cf);
  }
}

/** Whether `exchangeAtEdge` answers that request: GET and POST of `/dns-query`, exactly. */
export function isDnsQuery({ method, url }: EdgeRequest): boolean {
  if (method !== "GET" && method !== "POST") return false;
  // Behind the scheme, in which there are slashes.
  const path = url.indexOf("/", 8);
  const end = path + DNS_QUERY.length;
  return url.startsWith(DNS_QUERY, path) && (url.length === end || url.charCodeAt(end) === QUESTION_MARK);
}

/**
 * Answers a request to the DNS resource without the application around it, as that one would: the application costs
 * more than the answer (docs/benchmarks.md).
 */
export function exchangeAtEdge(
  { answerDns, failed }: DnsResource,
  request: EdgeRequest,
): Response | Promise<Response> {
  const exchanged = new FetchRequest(request, new EdgeConnection(request));
  try {
    const answered = answerDns(exchanged);
    if (!(answered instanceof Promise)) return toResponse(answered);
    return answered.then(toResponse, (error) => toResponse(failed(exchanged, error)));
  } catch (error) {
    return toResponse(failed(exchanged, error));
  }
}

/** Header fields are shared by answers that have the same ones: so is the form in which workerd copies them fastest. */
const kept = new WeakMap<HttpResponse["headers"], Headers>();

function toResponse({ status, headers, body }: HttpResponse): Response {
  let fields = kept.get(headers);
  if (fields === undefined) {
    fields = new Headers(headers);
    if (Object.isFrozen(headers)) kept.set(headers, fields);
  }
  return new Response(body, { status, headers: fields });
}
