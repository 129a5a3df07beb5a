import { type AllowedOrigins, crossOriginHeaders } from "./cross-origin.ts";
import type { DohGateway } from "./doh-gateway.ts";
import { describeFreshness } from "./freshness-comment.ts";
import { renderJsonAnswer } from "./json-answer.ts";
import { JsonQuestionError, readJsonQuestion } from "./json-question.ts";
import { acceptQuality, DNS_JSON, DNS_MESSAGE, JSON_TYPE, namesMediaType } from "./media-type.ts";
import type { QueryCounters } from "./query-counters.ts";
import type { Refuse } from "./refusal.ts";

/** What the JSON route works with. */
export interface JsonRouteParts {
  readonly gateway: DohGateway;
  /** Unix milliseconds. */
  readonly clock: () => number;
  readonly counters: QueryCounters;
  readonly allowedOrigins: AllowedOrigins;
  readonly refuse: Refuse;
}

/** Answers a GET with `?name=`: JSON, or wire format where `ct` or Accept asks for it. */
export type JsonRoute = (request: Request, view: string | undefined) => Response;

export function createJsonRoute(parts: JsonRouteParts): JsonRoute {
  const { gateway, clock, counters, allowedOrigins, refuse } = parts;
  return (request, view) => {
    const accept = request.headers.get("accept");
    const json = Math.max(acceptQuality(accept, JSON_TYPE), acceptQuality(accept, DNS_JSON));
    let question: ReturnType<typeof readJsonQuestion>;
    try {
      question = readJsonQuestion(request.url);
    } catch (error) {
      if (!(error instanceof JsonQuestionError)) throw error;
      return refuse(request, 400, error.message);
    }
    const wanted = question.contentType?.toLowerCase() === DNS_MESSAGE;
    if (!wanted && json === 0 && acceptQuality(accept, DNS_MESSAGE) === 0)
      return refuse(
        request,
        406,
        `this is ${JSON_TYPE}, ${DNS_JSON} or ${DNS_MESSAGE}; Accept excludes them all`,
      );

    const now = clock();
    const started = performance.now();
    const answer = gateway.answer(question.query, view, now);
    if (answer === undefined) return refuse(request, 400, "the parameters make no DNS query");
    const seconds = (performance.now() - started) / 1000;
    counters.answered(question.query, answer.outcome, view !== undefined, seconds);

    const crossOrigin = crossOriginHeaders(request, allowedOrigins);
    const headers: Record<string, string> = {
      ...crossOrigin,
      "cache-control": answer.freshness > 0 ? `max-age=${answer.freshness}` : "no-store",
      "x-content-type-options": "nosniff",
      vary: crossOrigin.vary === undefined ? "accept" : `accept, ${crossOrigin.vary}`,
    };
    if (wanted || json === 0) {
      headers["content-type"] = DNS_MESSAGE;
      headers["content-length"] = String(answer.bytes.length);
      return new Response(answer.bytes, { headers });
    }
    const comment = describeFreshness(gateway.status(), view, now);
    headers["content-type"] = namesMediaType(accept, DNS_JSON) ? DNS_JSON : `${JSON_TYPE}; charset=utf-8`;
    const text = JSON.stringify(renderJsonAnswer(question.query, answer.bytes, comment));
    return new Response(`${text}\n`, { headers });
  };
}
