import { ACCESS_STATUS } from "../../access/client.ts";
import { RULE_STATUS } from "../../access/rule.ts";
import { PUSH_REFUSALS } from "../../gateway/limits.ts";

/**
 * All codes of errors of the HTTP API, with their statuses. They are stable: docs/how-to/troubleshoot.md and
 * the pages that it names explain them.
 */
export const STATUS = {
  ...RULE_STATUS,

  // Of every path.
  METHOD_NOT_ALLOWED: 405,
  NOT_FOUND: 404,
  UNKNOWN_HOST: 421,
  TOO_MANY_REQUESTS: 429,
  INTERNAL: 500,
  OVERLOADED: 503,

  // Of queries.
  INVALID_QUERY: 400,
  INVALID_QUESTION: 400,
  QUERY_MISSING: 400,
  NOT_ACCEPTABLE: 406,
  QUERY_TOO_LONG: 413,
  UNREADABLE_ANSWER: 502,

  // Of bodies.
  INVALID_GZIP: 400,
  INVALID_JSON: 400,
  INVALID_UTF8: 400,
  JSON_TOO_DEEP: 400,
  UNREADABLE_BODY: 400,
  BODY_TOO_SLOW: 408,
  BODY_TOO_LARGE: 413,
  COMPRESSION_RATIO: 413,
  UNSUPPORTED_ENCODING: 415,
  UNSUPPORTED_MEDIA_TYPE: 415,
  BUSY: 503,

  // Of pushes.
  ...statusesOf(PUSH_REFUSALS),
  CLIENT_GONE: 400,
  END_MISMATCH: 400,
  END_MISSING: 400,
  INVALID_LINE: 400,
  UNKNOWN_CLUSTER: 404,
  GENERATION_MISMATCH: 409,
  OTHER_INSTANCE: 409,
  LINE_TOO_LONG: 413,
  TOO_MANY_VALUES: 413,
  CLUSTER_ID_MISMATCH: 422,
  INVALID_BASE_GENERATION: 422,
  INVALID_INSTANCE: 422,
  INVALID_LEASE: 422,
  INVALID_SNAPSHOT: 422,
  UNSUPPORTED_FORMAT: 422,
  TOO_MANY_PUSHES: 429,
  TOO_MUCH_WORK: 429,
  PRIMARY_UNREACHABLE: 502,
  STORE_FAILED: 503,
  STORE_FULL: 503,

  // Of desired states.
  CONTROL_NOT_ALLOWED: 403,
  CLUSTER_NOT_LIVE: 409,
  TOO_MANY_STREAMS: 429,
  CONTROL_NOT_SERVED: 501,

  // Of transfers.
  UNKNOWN_PART: 404,
  UNKNOWN_SCOPE: 404,

  // Of federations.
  CERTIFICATE_FOR_QUERIES: 403,
  CERTIFICATE_OF_CLUSTER: 403,
  UNKNOWN_FEDERATION: 404,
  INVALID_FEDERATION: 422,
  TOO_MANY_FEDERATIONS: 503,
} as const;

export type Code = keyof typeof STATUS;

/** Codes that have another status as well: of a query in a URL; of APIs that tokens open, too. */
export const OTHER_STATUS = {
  QUERY_TOO_LONG: 414,
  CERTIFICATE_REFUSED: ACCESS_STATUS.CERTIFICATE_REFUSED,
} as const;

function statusesOf<Code extends string>(rows: Readonly<Record<Code, { readonly status: number }>>) {
  const codes = Object.keys(rows) as Code[];
  return Object.fromEntries(codes.map((code) => [code, rows[code].status])) as Record<Code, number>;
}
