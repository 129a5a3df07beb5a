import type { Client } from "../../../access/client/client.ts";
import type { HttpResponse } from "../../../http/messages/http-message.ts";
import type { NodeRequest } from "./node-request.ts";

/**
 * Answers requests of the Fetch standard.
 * @param sender tells whether the client has gone. Default: it waits for the response
 */
export type FetchHandler = (
  request: Request,
  client: Client,
  sender?: Pick<NodeRequest, "isClosed">,
) => Response | Promise<Response>;

/** The Fetch standard forbids these methods, or changes them to upper case, which makes them other methods (RFC 9110 section 9.1). */
const NOT_FETCHED = /^(?:connect|trace|track)$/i;
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const NORMALIZED = /^(?:delete|get|head|options|patch|post|put)$/i;

/** Answers a request with a handler of the Fetch standard. */
export async function answerByFetch(request: NodeRequest, fetch: FetchHandler): Promise<HttpResponse> {
  const { method, client } = request;
  if (NOT_FETCHED.test(method) || (NORMALIZED.test(method) && method !== method.toUpperCase()))
    return refusal(501, `the method ${JSON.stringify(method)} is not implemented`);
  // RFC 9110 section 9.3.7: the server as a whole.
  if (request.url === "*" && method === "OPTIONS")
    return { status: 204, headers: { allow: METHODS }, body: null };
  const url = urlOf(request);
  if (url === undefined) return refusal(400, "the request's target or its host is malformed");
  const response = await fetch(toRequest(request, url), client, request);
  const headers = Object.fromEntries(response.headers);
  if (response.body === null) return { status: response.status, headers, body: null };
  // A response that no proxy may buffer has no end in sight.
  if (headers["x-accel-buffering"] === "no")
    return { status: response.status, headers, body: null, stream: response.body };
  const body = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, headers: { "content-length": String(body.length), ...headers }, body };
}

/** A response of one line of text. */
export function refusal(
  status: number,
  says: string,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  const body = new TextEncoder().encode(`${says}\n`);
  const length = String(body.length);
  const common = { "content-type": "text/plain", "cache-control": "no-store", "content-length": length };
  return { status, headers: { ...common, ...headers }, body };
}

/**
 * RFC 9110 section 7.1; undefined if the parts are not a URL, or the host is more than a host and a port. A client of HTTP/1.0
 * need not name the host, and an empty host is valid (RFC 9112 section 3.2).
 */
function urlOf({ scheme, host, url }: NodeRequest): string | undefined {
  const base = URL.parse(`${scheme}://${host === "" ? "localhost" : host}`);
  if (base === null || base.pathname !== "/" || base.username !== "" || /[?#@/\\]/.test(host))
    return undefined;
  const parsed = url.startsWith("/") ? URL.parse(base.origin + url) : URL.parse(url);
  return parsed === null || !/^https?:$/.test(parsed.protocol) ? undefined : parsed.href;
}

function toRequest(request: NodeRequest, url: string): Request {
  const { method, rawHeaders } = request;
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (!rawHeaders[index]!.startsWith(":")) headers.append(rawHeaders[index]!, rawHeaders[index + 1]!);
  if (method === "GET" || method === "HEAD") return new Request(url, { method, headers });
  const body = request.bodyStream();
  return new Request(url, { method, headers, body, duplex: "half" } as RequestInit);
}
