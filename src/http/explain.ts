import { type View, viewName } from "../access/view.ts";
import type { Answered, Unanswered } from "../answer/answer-query.ts";
import { type ExplainSource, explain } from "../explain/explain.ts";
import type { Explanation } from "../explain/explanation.ts";
import type { ServingStatus } from "../gateway/gateway-types.ts";
import { originsOfAnswer, rejectMethod, rejectUnanswered, varyByCredential } from "./doh/rule-answers.ts";
import type { JsonRoute, JsonRouteParts } from "./json.ts";
import { describeAnswered, type JsonAnswer, renderJsonAnswer } from "./json.ts";
import { JsonQuestionError, readJsonQuestion } from "./json-question.ts";
import { acceptQuality, crossOriginHeaders, JSON_TYPE, preflight } from "./messages/fields.ts";
import type { HttpResponse } from "./messages/message.ts";
import type { Listed } from "./pages/directory.ts";
import { nameOfCode, nameOfType } from "./pages/page.ts";

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

/** Where an explanation comes from: both as far as things exist for the client. */
interface ExplainedFrom {
  readonly listed: () => Listed | undefined;
  readonly status: () => ServingStatus;
}

const NOT_READY: Explanation = {
  code: "NOT_READY",
  message: "Nothing is known yet: no cluster has pushed, or every lease has expired.",
  records: [],
  leases: [],
  conflicts: [],
  findings: [],
  suggestions: [],
  omitted: [],
};

/** Explains an answer to a client. @param json the answer, with one question */
export function explainAnswer(
  { listed, status }: ExplainedFrom,
  answered: Pick<Answered, "view" | "isForwarded" | "origin">,
  json: Pick<JsonAnswer, "Status" | "Question" | "Answer">,
): Explanation {
  const served = listed();
  if (served === undefined) return NOT_READY;
  const { name, type } = json.Question[0]!;
  const expiry = new Map(
    status().clusters.map(({ clusterId, live, expiresAt }) => [clusterId, live ? expiresAt : undefined]),
  );
  const { world, merged } = served;
  const source: ExplainSource = {
    world,
    accounts: merged?.accounts,
    explainer: merged?.explainer,
    leaseOf: (clusterId) => expiry.get(clusterId),
  };
  const isForwarded = answered.isForwarded || answered.origin !== undefined;
  return explain(source, {
    name,
    type,
    isForwarded,
    view: viewName(answered.view),
    status: json.Status,
    records: json.Answer ?? [],
  });
}

/** The most records of one explanation. */
const MOST_RECORDS = 1000;

/** An explanation as `/explain` returns it. Seconds; type and response code by name. */
export interface JsonExplanation extends Omit<Explanation, "records" | "leases"> {
  readonly question: { readonly name: string; readonly type: string };
  /** The view of the query. A client outside has no cluster; it may have a region and a zone. */
  readonly view: {
    readonly cluster?: string;
    readonly region?: string;
    readonly zone?: string;
    /** Present if the client's location decided the view. */
    readonly byLocation?: true;
  };
  /** The response code: `NOERROR`. */
  readonly status: string;
  /** At most 1000; `recordCount` counts all. */
  readonly records: readonly {
    readonly name: string;
    readonly type: string;
    readonly ttl: number;
    readonly data: string;
    readonly from: readonly string[];
  }[];
  readonly recordCount: number;
  /** The answer's records leave with the first of these leases; null for a cluster that is not live. */
  readonly leases: readonly { readonly clusterId: string; readonly expiresInSeconds: number | null }[];
  /** Extended DNS Errors, and when each cluster was last seen. */
  readonly comment: string;
}

/** @param now Unix milliseconds by the gateway's clock */
export function jsonExplanation(
  { records, leases, ...explanation }: Explanation,
  json: JsonAnswer,
  { cluster, locality, isByLocation }: View,
  now: number,
): JsonExplanation {
  const { name, type } = json.Question[0]!;
  const ttlOf = new Map(
    (json.Answer ?? []).map((record) => [`${record.type} ${record.data}`.toLowerCase(), record.TTL]),
  );
  return {
    question: { name, type: nameOfType(type) },
    view: {
      ...(cluster !== undefined && { cluster }),
      ...(locality !== undefined && { region: locality.region }),
      ...(locality?.zone !== undefined && { zone: locality.zone }),
      ...(isByLocation === true && { byLocation: true }),
    },
    status: nameOfCode(json.Status),
    ...explanation,
    records: records.slice(0, MOST_RECORDS).map((record) => ({
      name: record.name,
      type: nameOfType(record.type),
      data: record.data,
      from: record.from,
      ttl: ttlOf.get(`${record.type} ${record.data}`.toLowerCase()) ?? 0,
    })),
    recordCount: records.length,
    leases: leases.map(({ clusterId, expiresAt }) => ({
      clusterId,
      expiresInSeconds: expiresAt === undefined ? null : Math.max(0, Math.floor((expiresAt - now) / 1000)),
    })),
    comment: json.Comment,
  };
}
