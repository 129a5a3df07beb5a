import type { Client } from "../../access/client/client.ts";
import type { AdmittedGateway } from "../../http/access/admitted.ts";
import { pathOf } from "../../http/access/admitted-resource.ts";
import type { DnsResource } from "../../http/doh/dns-resource.ts";
import type { HttpRequest, HttpResponse } from "../../http/exchange.ts";
import { FetchRequest } from "../../http/fetch-exchange.ts";
import { behindGate, type RequestGate } from "../../http/request-gate.ts";
import type { SecondarySite } from "../settings/sites-of-secondary.ts";
import { locationOf } from "./cf-location.ts";
import type { EdgeDns } from "./edge-dns.ts";

/** What DNS queries are answered with where it depends on who asks. */
export interface AdmittedEdgeParts {
  readonly admitted: Pick<AdmittedGateway<SecondarySite>, "resource" | "failed">;
  /** The limits on clients. */
  readonly gate: RequestGate | undefined;
}

/** A request as Cloudflare hands it to a Worker. */
export type EdgeRequest = Request<unknown, IncomingRequestCfProperties>;

const DNS_QUERY = "/dns-query";
const QUESTION_MARK = 0x3f;

/** What Cloudflare says of a client. It is looked at only where it counts, since every look leaves JavaScript. */
export class EdgeConnection implements Client {
  readonly certificate = "none";
  readonly #request: EdgeRequest;

  constructor(request: EdgeRequest) {
    this.#request = request;
  }

  /** Cloudflare overwrites what the client sends by that name. */
  get address(): string | undefined {
    return this.#request.headers.get("cf-connecting-ip") ?? undefined;
  }

  get location() {
    return locationOf(this.#request.cf);
  }
}

/**
 * Answers a request to the DNS resource without the application around it, as that one would: the application costs more than the
 * answer (docs/explanation/benchmarks.md). That is GET and POST of `/dns-query`, exactly; undefined for any other request.
 */
export function exchangeAtEdge(
  { secondary, resource }: EdgeDns,
  request: EdgeRequest,
  context: ExecutionContext,
): Response | Promise<Response> | undefined {
  const exchanged = new FetchRequest(request, new EdgeConnection(request));
  if (!isDnsQuery(exchanged)) return undefined;
  const fresh = secondary.freshen(Date.now(), (work) => context.waitUntil(work));
  return fresh === undefined ? answer(resource, exchanged) : fresh.then(() => answer(resource, exchanged));
}

/** The same where answers depend on who asks: whatever answers DNS or JSON, token in the path or not. */
export function exchangeForFew(
  { admitted: { resource, failed }, gate }: AdmittedEdgeParts,
  request: EdgeRequest,
  context: ExecutionContext,
): Response | Promise<Response> | undefined {
  const exchanged = new FetchRequest(request, new EdgeConnection(request));
  const answerDns = resource.exchangeAt(pathOf(exchanged.url), ({ secondary }) =>
    secondary.freshen(Date.now(), (work) => context.waitUntil(work)),
  );
  return answerDns && answer({ answerDns: behindGate(gate)(answerDns), failed }, exchanged);
}

function isDnsQuery({ method, url }: HttpRequest): boolean {
  if (method !== "GET" && method !== "POST") return false;
  // Behind the slashes of the scheme.
  const path = url.indexOf("/", 8);
  const end = path + DNS_QUERY.length;
  return url.startsWith(DNS_QUERY, path) && (url.length === end || url.charCodeAt(end) === QUESTION_MARK);
}

function answer(
  { answerDns, failed }: Pick<DnsResource, "answerDns" | "failed">,
  request: HttpRequest,
): Response | Promise<Response> {
  try {
    const answered = answerDns(request);
    if (!(answered instanceof Promise)) return toResponse(answered);
    return answered.then(toResponse, (error) => toResponse(failed(request, error)));
  } catch (error) {
    return toResponse(failed(request, error));
  }
}

/** Header fields are shared by answers that have the same ones; so is the form that workerd copies fastest. */
const kept = new WeakMap<HttpResponse["headers"], Headers>();

function toResponse({ status, headers, body }: HttpResponse): Response {
  let fields = kept.get(headers);
  if (fields === undefined) {
    fields = new Headers(headers);
    // The runtime knows the length of the body, and every field of a response costs.
    fields.delete("content-length");
    if (Object.isFrozen(headers)) kept.set(headers, fields);
  }
  return new Response(body, { status, headers: fields });
}
