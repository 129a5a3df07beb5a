import { ACCESS_STATUS, AccessRejected, type AccessRejection } from "../../access/client.ts";
import type { QueryCounters } from "../../answer/answer-query.ts";
import { isDiskFailure } from "../../database/store-error.ts";
import { GenerationMismatch, SenderGone } from "../../gateway/gateway-types.ts";
import { OtherInstance } from "../../gateway/leases.ts";
import { PUSH_REFUSALS, PushRefused } from "../../gateway/limits.ts";
import type { Limit } from "../../limits/counters.ts";
import { LinesError } from "../../snapshot/lines/json-syntax.ts";
import { SnapshotError } from "../../snapshot/parse.ts";
import { type Code, STATUS } from "./codes.ts";
import {
  type AllowedOrigins,
  crossOriginHeaders,
  DNS_JSON,
  type HttpRequest,
  type HttpResponse,
  JSON_TYPE,
  namesMediaType,
  rawParameter,
} from "./message.ts";

/** The details of an error beside code and message. */
interface ApiErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The limit that caused it. */
  readonly limit?: Limit | undefined;
  /** Default: that of the code. */
  readonly status?: number;
}

/** An error of an API: `{ "code": …, "message": … }` with a status, and details if there are any. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: Code;
  readonly details: ApiErrorOptions["details"];
  readonly headers: Readonly<Record<string, string>>;
  readonly limit: Limit | undefined;

  constructor(code: Code, message: string, options: ApiErrorOptions = {}) {
    super(message);
    this.status = options.status ?? STATUS[code];
    this.code = code;
    this.details = options.details;
    this.headers = options.headers ?? {};
    this.limit = options.limit;
  }
}

/** Why a request is rejected before any route sees it. */
export type Rejection = Pick<ApiError, "code" | "message" | "headers"> & Partial<Pick<ApiError, "details">>;

/** The response of an API for an error. */
export function errorResponse(error: Rejection & Partial<Pick<ApiError, "status">>): Response {
  const { code, message, details, headers, status = STATUS[code] } = error;
  return jsonResponse(status, { code, message, ...(details !== undefined && { details }) }, headers);
}

/** Rejects a request for a desired state on a host that serves none. */
export function controlNotServed(): never {
  throw new ApiError(
    "CONTROL_NOT_SERVED",
    "this host serves no desired states: let the worker ask the gateway that takes the pushes, on Node.js, Deno or Bun",
  );
}

/** A JSON response that no cache may store. */
export function jsonResponse(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store", ...headers } });
}

const WITHOUT_TOKEN: ReadonlySet<AccessRejection> = new Set(["TOKEN_REQUIRED", "CERTIFICATE_REFUSED"]);

/** The error that a client gets; undefined for an unexpected one. */
export function toApiError(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (error instanceof AccessRejected) return accessError(error);
  if (error instanceof GenerationMismatch)
    return new ApiError(error.code, error.message, {
      details: { currentGeneration: error.current ?? null },
    });
  if (error instanceof OtherInstance) return new ApiError(error.code, error.message);
  // For the audit log: no response is sent.
  if (error instanceof SenderGone) return new ApiError(error.code, error.message);
  if (error instanceof SnapshotError) {
    const { code, message, issues, total } = error;
    return new ApiError(code, message, { details: { issues, total } });
  }
  if (error instanceof LinesError) {
    const { code, message, line } = error;
    return new ApiError(code, message, {
      details: { line },
      limit: code === "JSON_TOO_DEEP" ? "limits.pushLevels" : undefined,
    });
  }
  if (error instanceof PushRefused) {
    const { limit } = PUSH_REFUSALS[error.code];
    return new ApiError(error.code, error.message, { limit: limit && `limits.${limit}` });
  }
  if (isDiskFailure(error))
    return new ApiError(error.code, error.message, { headers: { "retry-after": "10" } });
  return undefined;
}

function accessError({ code, message }: AccessRejected): ApiError {
  const status = ACCESS_STATUS[code];
  const headers: Record<string, string> = {};
  if (status === 401)
    headers["www-authenticate"] =
      `Bearer realm="clusterset-doh"${WITHOUT_TOKEN.has(code) ? "" : ', error="invalid_token"'}`;
  if (status === 503) headers["retry-after"] = "30";
  return new ApiError(code, message, { status, headers });
}

/** Makes the responses to rejected requests. */
export type Reject = (
  request: HttpRequest,
  code: Code,
  explanation: string,
  headers?: Readonly<Record<string, string>>,
  /** Default: that of the code. */
  status?: number,
) => HttpResponse;

/** The text of a 404. */
export const NOTHING_HERE =
  "this path does not exist; DNS is at /dns-query, JSON at /resolve, explanations at /explain, the view of one cluster at /clusters/<cluster id>/dns-query";

/**
 * A rejection is one line of text, or JSON in the form of every API (`ApiError`) for clients that accept it.
 * Scripts of the allowed origins may read it; no cache may store it.
 */
export function createReject(allowed: AllowedOrigins, counters: QueryCounters): Reject {
  return (request, code, explanation, headers, status = STATUS[code]) => {
    counters.rejected.hit(status);
    const json = wantsJson(request);
    const text = json ? JSON.stringify({ code, message: explanation }) : explanation;
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
