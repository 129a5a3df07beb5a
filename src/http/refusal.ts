import { type AllowedOrigins, crossOriginHeaders } from "./cross-origin.ts";
import type { HttpRequest, HttpResponse } from "./exchange.ts";
import type { QueryCounters } from "./query-counters.ts";

/** Makes the responses that say why a request was not taken. */
export type Refuse = (
  request: HttpRequest,
  status: number,
  explanation: string,
  headers?: Readonly<Record<string, string>>,
) => HttpResponse;

/** A refusal is one line of text, readable by scripts of other origins, and never cached. */
export function createRefuse(allowed: AllowedOrigins, counters: QueryCounters): Refuse {
  return (request, status, explanation, headers) => {
    counters.rejected(status);
    const body = new TextEncoder().encode(`${explanation}\n`);
    return {
      status,
      body,
      headers: {
        "content-length": String(body.length),
        "content-type": "text/plain; charset=utf-8",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        ...crossOriginHeaders(request, allowed),
        ...headers,
      },
    };
  };
}
