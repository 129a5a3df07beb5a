import type { Answered, Endpoint, Unanswered } from "../../answer/answer-query.ts";
import {
  cacheControl,
  originsOfAnswer,
  rejectMethod,
  rejectUnanswered,
  varyByCredential,
} from "../doh/answer-response.ts";
import type { RuleAnswers } from "../doh/rule-answers.ts";
import {
  acceptQuality,
  crossOriginHeaders,
  DNS_JSON,
  DNS_MESSAGE,
  JSON_TYPE,
  namesMediaType,
  preflight,
} from "../messages/fields.ts";
import type { HttpRequest, HttpResponse } from "../messages/message.ts";
import { describeAnswered } from "./freshness-comment.ts";
import { type JsonAnswer, renderJsonAnswer } from "./json-answer.ts";
import { JsonQuestionError, readJsonQuestion } from "./json-question.ts";

/** The parts of the JSON route. */
export interface JsonRouteParts {
  /** Unix milliseconds. */
  readonly clock: () => number;
}

/** Answers a GET with `?name=`: JSON, or wire format if `ct` or Accept requests it. */
export type JsonRoute = (
  request: HttpRequest,
  answers: RuleAnswers,
  endpoint: Endpoint,
) => HttpResponse | Promise<HttpResponse>;

/** The methods of `/resolve`. */
export const RESOLVE_METHODS = "GET, HEAD, OPTIONS";

/** `/resolve`. */
export function createResolveRoute(answerJson: JsonRoute): JsonRoute {
  return (request, answers, endpoint) => {
    const { method } = request;
    if (method === "GET" || method === "HEAD") return answerJson(request, answers, endpoint);
    if (method === "OPTIONS") return preflight(request, RESOLVE_METHODS, answers.origins);
    return rejectMethod(request, answers, RESOLVE_METHODS);
  };
}

export function createJsonRoute({ clock }: JsonRouteParts): JsonRoute {
  return (request, answers, endpoint) => {
    const { reject } = answers;
    const accept = request.header("accept");
    const json = Math.max(acceptQuality(accept, JSON_TYPE), acceptQuality(accept, DNS_JSON));
    let question: ReturnType<typeof readJsonQuestion>;
    try {
      question = readJsonQuestion(request.url);
    } catch (error) {
      if (!(error instanceof JsonQuestionError)) throw error;
      return reject(request, 400, error.code, error.message);
    }
    const { query } = question;
    const wanted = question.contentType?.toLowerCase() === DNS_MESSAGE;
    if (!wanted && json === 0 && acceptQuality(accept, DNS_MESSAGE) === 0)
      return reject(
        request,
        406,
        "NOT_ACCEPTABLE",
        `this is ${JSON_TYPE}, ${DNS_JSON} or ${DNS_MESSAGE}; Accept excludes them all`,
      );

    const respond = (answered: Answered | Unanswered): HttpResponse => {
      if (typeof answered === "string" || answered.retryAfter !== undefined)
        return rejectUnanswered(reject, request, answered);
      const { answer } = answered;
      const crossOrigin = crossOriginHeaders(request, originsOfAnswer(answers.origins, answered));
      const vary = crossOrigin.vary === undefined ? "accept" : `accept, ${crossOrigin.vary}`;
      const headers: Record<string, string> = {
        ...crossOrigin,
        "cache-control": cacheControl(answered),
        "x-content-type-options": "nosniff",
        vary: answered.variesByCredential ? varyByCredential(vary) : vary,
      };
      if (wanted || json === 0) {
        headers["content-type"] = DNS_MESSAGE;
        headers["content-length"] = String(answer.bytes.length);
        return { status: 200, headers, body: answer.bytes };
      }
      const comment = describeAnswered(answered, () => answers.gateway.status(), clock());
      let rendered: JsonAnswer;
      try {
        rendered = renderJsonAnswer(answer.bytes, comment);
      } catch (error) {
        if (!answered.isForwarded && answered.origin === undefined) throw error;
        return reject(request, 502, "UNREADABLE_ANSWER", "the name server sent records that cannot be read");
      }
      headers["content-type"] = namesMediaType(accept, DNS_JSON) ? DNS_JSON : `${JSON_TYPE}; charset=utf-8`;
      const body = new TextEncoder().encode(`${JSON.stringify(rendered)}\n`);
      headers["content-length"] = String(body.length);
      return { status: 200, headers, body };
    };
    const answered = answers.answerQuery(request, query, endpoint);
    return answered instanceof Promise ? answered.then(respond) : respond(answered);
  };
}
