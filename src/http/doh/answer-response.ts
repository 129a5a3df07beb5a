import type { Answered, Unanswered } from "../../answer/answer-query.ts";
import type { Reject } from "../messages/errors.ts";
import { type AllowedOrigins, originsOf } from "../messages/fields.ts";
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
