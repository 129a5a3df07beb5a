import { ACCESS_STATUS } from "../../access/client.ts";
import { RULE_STATUS } from "../../access/rule.ts";
import { PUSH_REFUSALS } from "../../gateway/limits.ts";
import { UNKNOWN_PART } from "../../transfer/http-source.ts";
import { LINES_STATUS } from "../messages/errors.ts";

/** Stable codes by HTTP status. */
export type ErrorCodes = Readonly<Record<number, readonly string[]>>;

/** Codes of several origins together, each list sorted. */
export function joinCodes(...parts: readonly ErrorCodes[]): ErrorCodes {
  const joined: Record<number, string[]> = {};
  for (const part of parts)
    for (const [status, codes] of Object.entries(part))
      joined[Number(status)] = [...new Set([...(joined[Number(status)] ?? []), ...codes])].sort();
  return joined;
}

function byStatus(statuses: Readonly<Record<string, number>>): ErrorCodes {
  return joinCodes(...Object.entries(statuses).map(([code, status]) => ({ [status]: [code] })));
}

/** Of every path: the limits of a client and of the process (`createRequestGate`), and unexpected errors. */
export const OF_EVERY_PATH: ErrorCodes = {
  421: ["UNKNOWN_HOST"],
  429: ["TOO_MANY_REQUESTS"],
  500: ["INTERNAL"],
  503: ["OVERLOADED"],
};

/** Of paths whose credentials are tokens of clusters or secondaries. */
export const OF_TOKENS = byStatus(ACCESS_STATUS);

const { OTHER_CLUSTER: _, ...ruleStatus } = RULE_STATUS;

/** Of paths that an access rule admits. */
export const OF_RULES = joinCodes(byStatus(ruleStatus), { 404: ["NOT_FOUND"] });

/** Of queries by HTTP. */
export const OF_QUERIES: ErrorCodes = {
  400: ["INVALID_QUESTION"],
  405: ["METHOD_NOT_ALLOWED"],
  406: ["NOT_ACCEPTABLE"],
  502: ["UNREADABLE_ANSWER"],
};

/** Of DNS messages in a body or a parameter. */
export const OF_MESSAGES: ErrorCodes = {
  400: ["INVALID_QUERY", "QUERY_MISSING", "UNREADABLE_BODY"],
  413: ["QUERY_TOO_LONG"],
  414: ["QUERY_TOO_LONG"],
  415: ["UNSUPPORTED_MEDIA_TYPE"],
};

/** Of every request body of the push API and of federations. */
export const OF_BODIES: ErrorCodes = {
  400: ["INVALID_GZIP", "UNREADABLE_BODY"],
  408: ["BODY_TOO_SLOW"],
  413: ["BODY_TOO_LARGE", "COMPRESSION_RATIO"],
  415: ["UNSUPPORTED_ENCODING", "UNSUPPORTED_MEDIA_TYPE"],
  429: ["TOO_MANY_PUSHES"],
  503: ["BUSY"],
};

/** Of JSON bodies. */
export const OF_JSON: ErrorCodes = { 400: ["INVALID_JSON", "INVALID_UTF8", "JSON_TOO_DEEP"] };

/** Of snapshots and deltas. */
export const OF_LINES = joinCodes(
  byStatus(LINES_STATUS),
  ...Object.entries(PUSH_REFUSALS).map(([code, { status }]) => ({ [status]: [code] })),
  {
    413: ["TOO_MANY_VALUES"],
    422: ["CLUSTER_ID_MISMATCH", "INVALID_SNAPSHOT"],
    429: ["TOO_MUCH_WORK"],
  },
);

/** Of pushes to a secondary, which forwards them. */
export const OF_SECONDARIES: ErrorCodes = { 502: ["PRIMARY_UNREACHABLE"] };

/** Of changes of what is kept. */
export const OF_STORES: ErrorCodes = { 503: ["STORE_FULL", "STORE_FAILED"] };

/** Of leases. */
export const OF_LEASES: ErrorCodes = { 422: ["INVALID_LEASE", "LEASE_OUT_OF_RANGE"] };

/** Of requests that name a generation. */
export const OF_GENERATIONS: ErrorCodes = { 409: ["GENERATION_MISMATCH"] };

/** Of requests that name an instance. */
export const OF_INSTANCES: ErrorCodes = { 409: ["OTHER_INSTANCE"], 422: ["INVALID_INSTANCE"] };

/** Of transfers, by the kind of the part. */
export const OF_TRANSFERS: ErrorCodes = { 404: ["UNKNOWN_SCOPE"] };
export const OF_PARTS: ErrorCodes = { 404: [UNKNOWN_PART] };

/** Of federations, which need a client certificate. */
export const OF_FEDERATIONS: ErrorCodes = {
  403: ["CERTIFICATE_REQUIRED", "CERTIFICATE_REFUSED", "CERTIFICATE_OF_CLUSTER", "CERTIFICATE_FOR_ASKING"],
};
