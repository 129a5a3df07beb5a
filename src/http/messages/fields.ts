import type { HttpRequest, HttpResponse } from "./message.ts";

export const DNS_MESSAGE = "application/dns-message";
export const DNS_JSON = "application/dns-json";
export const JSON_TYPE = "application/json";
const HTML = "text/html";

/** The type of a Content-Type field without its parameters, in lower case. */
export function essence(contentType: string): string {
  const semicolon = contentType.indexOf(";");
  return (semicolon === -1 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
}

/**
 * The quality of a media type in an Accept field (RFC 9110 section 12.5.1), from the most
 * specific range that matches; 0 if it is excluded. An absent or empty field accepts everything.
 */
export function acceptQuality(accept: string | null, mediaType: string): number {
  if (accept === null || accept === "" || accept === "*/*" || accept === mediaType) return 1;
  const group = mediaType.slice(0, mediaType.indexOf("/") + 1) + "*";
  let quality = 0;
  let specificity = -1;
  for (const range of accept.split(",")) {
    const type = essence(range);
    const matched = type === mediaType ? 2 : type === group ? 1 : type === "*/*" ? 0 : -1;
    if (matched <= specificity) continue;
    specificity = matched;
    const weight = /;\s*q\s*=\s*([0-9.]+)/i.exec(range)?.[1];
    quality = weight === undefined ? 1 : Math.min(1, Number(weight) || 0);
  }
  return quality;
}

/** Whether an Accept field names a media type itself, not only by a wildcard. */
export function namesMediaType(accept: string | null, mediaType: string): boolean {
  return accept?.split(",").some((range) => essence(range) === mediaType) ?? false;
}

/** Whether an Accept field is that of a browser that shows a page: it names HTML, and prefers it to JSON. */
export function prefersHtml(accept: string | null): boolean {
  return namesMediaType(accept, HTML) && acceptQuality(accept, HTML) > acceptQuality(accept, JSON_TYPE);
}

/** Which web origins may read answers: every one, or those listed (`https://app.example.org`). */
export type AllowedOrigins = "*" | readonly string[];

/** The setting that lets no foreign origin read anything. */
export const NO_ORIGIN: AllowedOrigins = [];

/**
 * The origins that may read the answers to clients of an access rule. `*` counts for the rule `public` only:
 * a browser sends its user's address, certificate and passwords also with requests of an attacker's page.
 */
export function originsOf(configured: AllowedOrigins, isPublic: boolean): AllowedOrigins {
  return configured === "*" && !isPublic ? NO_ORIGIN : configured;
}

/** The CORS fields of a response that scripts of every origin may read. */
export const ANY_ORIGIN = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "age, etag",
};

/**
 * The CORS fields of a response (Fetch standard, section 3.3). A browser may read Age, by which a DoH
 * client lowers the TTLs of an answer from a cache (RFC 8484 section 5.1).
 */
export function crossOriginHeaders(request: HttpRequest, allowed: AllowedOrigins): Record<string, string> {
  if (allowed === "*") return ANY_ORIGIN;
  if (allowed.length === 0) return {};
  const origin = request.header("origin");
  if (origin === null || !allowed.includes(origin)) return { vary: "origin" };
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "age, etag",
    vary: "origin",
  };
}

/**
 * Answers OPTIONS, preflights included; `allow` is the Allow field of the resource. There is no
 * Access-Control-Allow-Private-Network: a browser that requires it keeps pages of the internet away from a
 * gateway in a private network.
 */
export function preflight(request: HttpRequest, allow: string, allowed: AllowedOrigins): HttpResponse {
  const headers: Record<string, string> = { ...crossOriginHeaders(request, allowed), allow };
  if ("access-control-allow-origin" in headers) {
    headers["access-control-allow-methods"] = allow;
    headers["access-control-allow-headers"] = "accept, authorization, content-type";
    headers["access-control-max-age"] = "86400";
  }
  return { status: 204, headers, body: null };
}

/**
 * Distinguishes hosts by which a gateway is known from others.
 * @param host with its port, as `HttpRequest.host`
 */
export type KnowsHost = (host: string) => boolean;

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/**
 * Knows `localhost` and IP addresses: a page of a stranger, whose name was pointed at this gateway's address
 * (DNS rebinding), has another name. A request without a host is known, too: its client is no browser.
 */
export function isLocalHost(host: string): boolean {
  if (host.startsWith("[")) return true;
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  return name === "" || name === "localhost" || IPV4.test(name);
}
