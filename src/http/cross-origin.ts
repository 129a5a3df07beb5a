import type { HttpRequest, HttpResponse } from "./exchange.ts";

/** Which web origins may read answers: every one, or those listed (`https://app.example.org`). */
export type AllowedOrigins = "*" | readonly string[];

/**
 * The CORS fields of a response (Fetch standard, section 3.3). A browser may read Age, by which a DoH
 * client lowers the TTLs of an answer that a cache held (RFC 8484 section 5.1).
 */
export function crossOriginHeaders(request: HttpRequest, allowed: AllowedOrigins): Record<string, string> {
  if (allowed === "*")
    return { "access-control-allow-origin": "*", "access-control-expose-headers": "age, etag" };
  const origin = request.header("origin");
  if (origin === null || !allowed.includes(origin)) return { vary: "origin" };
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "age, etag",
    vary: "origin",
  };
}

/** Answers OPTIONS, preflights included; `allow` is the Allow field of the resource. */
export function preflight(request: HttpRequest, allow: string, allowed: AllowedOrigins): HttpResponse {
  const headers: Record<string, string> = { ...crossOriginHeaders(request, allowed), allow };
  if ("access-control-allow-origin" in headers) {
    headers["access-control-allow-methods"] = allow;
    headers["access-control-allow-headers"] = "accept, authorization, content-type";
    headers["access-control-max-age"] = "86400";
  }
  return { status: 204, headers, body: null };
}
