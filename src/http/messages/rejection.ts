import type { QueryCounters } from "../../answer/query-counters.ts";
import { rawParameter } from "../doh/url.ts";
import { errorBody } from "./api-error.ts";
import { type AllowedOrigins, crossOriginHeaders, DNS_JSON, JSON_TYPE, namesMediaType } from "./fields.ts";
import type { HttpRequest, HttpResponse } from "./message.ts";

/** Makes the responses to rejected requests. */
export type Reject = (
  request: HttpRequest,
  status: number,
  /** Stable (docs/how-to/troubleshoot.md). */
  code: string,
  explanation: string,
  headers?: Readonly<Record<string, string>>,
) => HttpResponse;

/** The text of a 404. */
export const NOTHING_HERE =
  "this path does not exist; DNS is at /dns-query, JSON at /resolve, explanations at /explain, the view of one cluster at /clusters/<cluster id>/dns-query";

/**
 * A rejection is one line of text, or JSON in the form of every API (`ApiError`) for clients that accept it. Scripts of the allowed origins may
 * read it; no cache may store it.
 */
export function createReject(allowed: AllowedOrigins, counters: QueryCounters): Reject {
  return (request, status, code, explanation, headers) => {
    counters.rejected(status);
    const json = wantsJson(request);
    const text = json
      ? JSON.stringify(errorBody({ code, message: explanation, details: undefined }))
      : explanation;
    const body = new TextEncoder().encode(`${text}\n`);
    return {
      status,
      body,
      headers: {
        "content-length": String(body.length),
        "content-type": `${json ? JSON_TYPE : "text/plain"}; charset=utf-8`,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        ...crossOriginHeaders(request, allowed),
        ...headers,
      },
    };
  };
}

/** Whether Accept names JSON, or accepts everything and the path is one of JSON. */
function wantsJson(request: HttpRequest): boolean {
  const accept = request.header("accept");
  if (namesMediaType(accept, JSON_TYPE) || namesMediaType(accept, DNS_JSON)) return true;
  if (accept !== null && accept !== "" && accept !== "*/*") return false;
  const { url } = request;
  return (
    /^[^?#]*\/(?:resolve|explain|api\/v1\/[^?#]*)(?:[?#]|$)/.test(url) ||
    rawParameter(url, "name") !== undefined
  );
}
