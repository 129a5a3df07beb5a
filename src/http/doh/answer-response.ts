import type { Answered, Unanswered } from "../../answer/answer-query.ts";
import type { Reject } from "../messages/errors.ts";
import { type AllowedOrigins, DNS_MESSAGE, originsOf } from "../messages/fields.ts";
import type { HttpRequest, HttpResponse } from "../messages/message.ts";

const TOO_MANY =
  "this client queries too many forwarded names; names of the gateway's own zones are answered";

/** The error instead of an answer: the bytes are not a query, the token is unknown, or the client exceeded its limit. */
export function rejectUnanswered(
  reject: Reject,
  request: HttpRequest,
  answered: Unanswered | Pick<Answered, "retryAfter">,
): HttpResponse {
  const message = describeUnanswered(answered);
  if (answered === "no-query") return reject(request, 400, "INVALID_QUERY", message);
  if (answered === "unknown-token")
    return reject(request, 401, "UNKNOWN_TOKEN", message, {
      "www-authenticate": 'Bearer realm="clusterset-doh", error="invalid_token"',
    });
  return reject(request, 429, "TOO_MANY_REQUESTS", message, { "retry-after": String(answered.retryAfter) });
}

/** The error for a method that a resource does not have. @param allow those that it has */
export function rejectMethod(
  request: HttpRequest,
  { reject }: { readonly reject: Reject },
  allow: string,
): HttpResponse {
  return reject(request, 405, "METHOD_NOT_ALLOWED", `${request.method} is not for this path: ${allow}`, {
    allow,
  });
}

/** The error as text. */
export function describeUnanswered(answered: Unanswered | Pick<Answered, "retryAfter">): string {
  if (answered === "no-query") return "this is not a DNS query: it needs a header of 12 bytes with QR 0";
  return answered === "unknown-token" ? "the gateway does not know this bearer token" : TOO_MANY;
}

/** The Cache-Control field of an answer; `isPrivate` ones are for the client only (RFC 9111 section 5.2.2.7). */
export function cacheControl({ answer, isPrivate }: Pick<Answered, "answer" | "isPrivate">): string {
  if (answer.freshness <= 0) return "no-store";
  return isPrivate ? `private, max-age=${answer.freshness}` : `max-age=${answer.freshness}`;
}

/** If the client's address decides whether names are forwarded, `*` does not count for forwarded answers. */
export function originsOfAnswer(
  origins: AllowedOrigins,
  { isByAddress }: Pick<Answered, "isByAddress">,
): AllowedOrigins {
  return originsOf(origins, isByAddress !== true);
}

/** The Vary field of an answer that also depends on the Authorization field. */
export function varyByCredential(vary: string | undefined): string {
  return vary === undefined ? "authorization" : `authorization, ${vary}`;
}

/** The number of cached header objects: the answers of a zone have few lengths and lifetimes. */
const MOST_KEPT = 4096;

/**
 * The header fields of answers that any origin may read, or none. Most answers have the same few lengths and lifetimes.
 * A new object for each answer would be most of the cost of header fields, so the objects are cached.
 */
export class PlainHeaders {
  readonly #others: Readonly<Record<string, string>>;
  readonly #scope: string;
  readonly #kept = new Map<number, Readonly<Record<string, string>>>();

  /**
   * @param vary the Vary field, if any
   * @param isPrivate whether only the client's own cache may store the answers
   * @param anyOrigin whether scripts of every origin may read the answers
   */
  constructor(vary: string | undefined, isPrivate: boolean, anyOrigin: boolean) {
    this.#scope = isPrivate ? "private, " : "";
    this.#others = {
      ...(anyOrigin && {
        "access-control-allow-origin": "*",
        "access-control-expose-headers": "age, etag",
      }),
      ...(vary !== undefined && { vary }),
    };
  }

  /** The fields of an answer of `length` bytes with a freshness in seconds. Callers must not change them. */
  of(length: number, freshness: number): Record<string, string> {
    const key = freshness * 0x10000 + length;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const headers = Object.freeze({
      "content-length": String(length),
      "content-type": DNS_MESSAGE,
      "cache-control": freshness > 0 ? `${this.#scope}max-age=${freshness}` : "no-store",
      ...this.#others,
    });
    this.#kept.set(key, headers);
    return headers;
  }
}
