import type { HttpRequest, HttpResponse } from "./http-message.ts";

/** Which web origins may read answers: every one, or those listed (`https://app.example.org`). */
export type AllowedOrigins = "*" | readonly string[];

/** The setting that lets no foreign origin read anything. */
export const NO_ORIGIN: AllowedOrigins = [];

/**
 * The origins that may read the answers to clients of an access rule. `*` counts for the rule `public` only: a browser sends its user's address,
 * certificate and passwords also with requests of an attacker's page.
 */
export function originsOf(configured: AllowedOrigins, isPublic: boolean): AllowedOrigins {
  return configured === "*" && !isPublic ? NO_ORIGIN : configured;
}

/**
 * The CORS fields of a response (Fetch standard, section 3.3). A browser may read Age, by which a DoH
 * client lowers the TTLs of an answer from a cache (RFC 8484 section 5.1).
 */
export function crossOriginHeaders(request: HttpRequest, allowed: AllowedOrigins): Record<string, string> {
  if (allowed === "*")
    return { "access-control-allow-origin": "*", "access-control-expose-headers": "age, etag" };
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
 * Answers OPTIONS, preflights included; `allow` is the Allow field of the resource. There is no Access-Control-Allow-Private-Network: a browser
 * that requires it keeps pages of the internet away from a gateway in a private network.
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
