import type { Answered, Unanswered } from "../../answer/answer-query.ts";
import { originsOfAnswer, rejectMethod, rejectUnanswered, varyByCredential } from "../doh/answer-response.ts";
import { describeAnswered } from "../json/freshness-comment.ts";
import { type JsonAnswer, renderJsonAnswer } from "../json/json-answer.ts";
import { JsonQuestionError, readJsonQuestion } from "../json/json-question.ts";
import type { JsonRoute, JsonRouteParts } from "../json/json-route.ts";
import { crossOriginHeaders, preflight } from "../messages/cross-origin.ts";
import type { HttpResponse } from "../messages/http-message.ts";
import { acceptQuality, JSON_TYPE } from "../messages/media-type.ts";
import { explainAnswer } from "./explain-answer.ts";
import { jsonExplanation } from "./json-explanation.ts";

/** The methods of `/explain`. */
export const EXPLAIN_METHODS = "GET, HEAD, OPTIONS";

/** `/explain?name=…&type=…`: answers the query as every path does, and explains the answer in JSON. No cache keeps it. */
export function createExplainRoute({ clock }: JsonRouteParts): JsonRoute {
  return (request, answers, endpoint) => {
    const { reject } = answers;
    const { method } = request;
    if (method === "OPTIONS") return preflight(request, EXPLAIN_METHODS, answers.origins);
    if (method !== "GET" && method !== "HEAD") return rejectMethod(request, answers, EXPLAIN_METHODS);
    if (acceptQuality(request.header("accept"), JSON_TYPE) === 0)
      return reject(request, 406, "NOT_ACCEPTABLE", `this is ${JSON_TYPE}; Accept excludes it`);
    let query: Uint8Array<ArrayBuffer>;
    try {
      ({ query } = readJsonQuestion(request.url));
    } catch (error) {
      if (!(error instanceof JsonQuestionError)) throw error;
      return reject(request, 400, error.code, error.message);
    }
    const respond = (answered: Answered | Unanswered): HttpResponse => {
      if (typeof answered === "string" || answered.retryAfter !== undefined)
        return rejectUnanswered(reject, request, answered);
      const status = () => answers.gateway.status();
      let json: JsonAnswer;
      try {
        json = renderJsonAnswer(answered.answer.bytes, describeAnswered(answered, status, clock()));
      } catch (error) {
        if (!answered.isForwarded && answered.origin === undefined) throw error;
        return reject(request, 502, "UNREADABLE_ANSWER", "the name server sent records that cannot be read");
      }
      const explanation = explainAnswer({ listed: answers.listed, status }, answered, json);
      const body = new TextEncoder().encode(
        `${JSON.stringify(jsonExplanation(explanation, json, answered.view, clock()))}\n`,
      );
      const crossOrigin = crossOriginHeaders(request, originsOfAnswer(answers.origins, answered));
      const vary = crossOrigin.vary === undefined ? "accept" : `accept, ${crossOrigin.vary}`;
      return {
        status: 200,
        headers: {
          ...crossOrigin,
          "cache-control": "no-store",
          "content-length": String(body.length),
          "content-type": `${JSON_TYPE}; charset=utf-8`,
          "x-content-type-options": "nosniff",
          vary: answered.variesByCredential ? varyByCredential(vary) : vary,
        },
        body,
      };
    };
    const answered = answers.answerQuery(request, query, endpoint);
    return answered instanceof Promise ? answered.then(respond) : respond(answered);
  };
}
