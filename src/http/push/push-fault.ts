import { GenerationMismatch } from "../../gateway/gateway-types.ts";
import { type PushRefusal, PushRefused } from "../../gateway/limits.ts";
import type { Limit } from "../../limits/limit-counters.ts";
import { SnapshotError } from "../../snapshot/snapshot-error.ts";
import { StoreError } from "../../store/store-error.ts";

/** Why the push API does not take a request. `code` is stable. */
export class PushFault extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The limit that it is because of. */
  readonly limit: Limit | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    more: {
      readonly details?: Readonly<Record<string, unknown>>;
      readonly headers?: Readonly<Record<string, string>>;
      readonly limit?: Limit;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = more.details;
    this.headers = more.headers ?? {};
    this.limit = more.limit;
  }
}

const REFUSAL_STATUS: Readonly<Record<PushRefusal, number>> = {
  CLUSTER_ID_MISMATCH: 422,
  LEASE_OUT_OF_RANGE: 422,
  SNAPSHOT_TOO_LARGE: 413,
  TOO_MANY_CLUSTERS: 503,
  TOO_MANY_NAMESPACES: 413,
};

const REFUSAL_LIMIT: Readonly<Partial<Record<PushRefusal, Limit>>> = {
  SNAPSHOT_TOO_LARGE: "limits.snapshotCharacters",
  TOO_MANY_CLUSTERS: "limits.clusters",
  TOO_MANY_NAMESPACES: "limits.namespaces",
};

/** The limit because of which a request failed, if it was one. */
export function limitOf(error: unknown): Limit | undefined {
  if (error instanceof PushFault) return error.limit;
  return error instanceof PushRefused ? REFUSAL_LIMIT[error.code] : undefined;
}

/** The response that says why a request is not taken. */
export function faultResponse(fault: PushFault): Response {
  const { status, code, message, details, headers } = fault;
  const error = details === undefined ? { code, message } : { code, message, details };
  return jsonResponse(status, { error }, headers);
}

/** The response to a request that failed; undefined for an error that nobody foresaw. */
export function refusePush(error: unknown): Response | undefined {
  if (error instanceof PushFault) return faultResponse(error);
  if (error instanceof GenerationMismatch) {
    const { code, message, current } = error;
    return jsonResponse(409, { error: { code, message }, currentGeneration: current ?? null });
  }
  if (error instanceof SnapshotError) {
    const { code, message, issues, total } = error;
    return faultResponse(new PushFault(422, code, message, { details: { issues, total } }));
  }
  if (error instanceof PushRefused)
    return faultResponse(new PushFault(REFUSAL_STATUS[error.code], error.code, error.message));
  if (error instanceof StoreError && error.code === "STORE_FULL")
    return faultResponse(new PushFault(503, error.code, error.message));
  return undefined;
}

/** A JSON response that no cache keeps. */
export function jsonResponse(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store", ...headers } });
}
