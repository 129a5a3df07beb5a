import { type View, viewName } from "../access/client.ts";
import type { Answered } from "../answer/answer-query.ts";
import { finish } from "../dns/steps.ts";
import { explain } from "../explain/explain.ts";
import { type Explanation, NOT_READY } from "../explain/explanation.ts";
import type { Written } from "../explain/schema.ts";
import type { RuleAnswers } from "./doh/rule-answers.ts";
import {
  answerQuestion,
  JSON_TEXT,
  type JsonAnswer,
  jsonBody,
  type QueryRoute,
  readAnswered,
} from "./json.ts";
import { readJsonQuestion } from "./json-question.ts";
import { acceptQuality, JSON_TYPE } from "./messages/message.ts";
import type { Explanation as ExplanationSchema } from "./openapi/schemas.ts";
import { nameOfCode, nameOfType } from "./pages/page.ts";

/**
 * `/explain?name=…&type=…`: answers the query as every path does, and explains the answer in JSON. No cache
 * keeps it.
 */
export const explainRoute: QueryRoute = (request, answers, endpoint) => {
  const { reject } = answers;
  if (acceptQuality(request.header("accept"), JSON_TYPE) === 0)
    return reject(request, "NOT_ACCEPTABLE", `this is ${JSON_TYPE}; Accept excludes it`);
  const question = readJsonQuestion(request.url);
  if ("error" in question) return reject(request, "INVALID_QUESTION", question.error);
  return answerQuestion(request, answers, endpoint, question.query, async (answered) => {
    const explained = await explainAnswered(answers, answered);
    return explained && { type: JSON_TEXT, body: jsonBody(explained.explanation), caching: "no-store" };
  });
};

/** Where an explanation comes from: both as far as things exist for the client. */
interface ExplainedFrom {
  readonly listed: RuleAnswers["listed"];
  readonly gateway: Pick<RuleAnswers["gateway"], "status">;
}

/** An answer and its explanation as JSON; undefined where another name server sent an unreadable answer. */
export async function explainAnswered(
  { clock, ...from }: Pick<RuleAnswers, "listed" | "gateway" | "clock">,
  answered: Answered,
): Promise<{ readonly json: JsonAnswer; readonly explanation: JsonExplanation } | undefined> {
  const now = clock();
  const json = readAnswered(answered, from.gateway, now);
  if (json === undefined) return undefined;
  const explanation = await explainAnswer(from, answered, json);
  return { json, explanation: jsonExplanation(explanation, json, answered.view, now) };
}

/** Explains an answer to a client, in turns with other work. @param json the answer, with one question */
export async function explainAnswer(
  { listed, gateway }: ExplainedFrom,
  answered: Pick<Answered, "view" | "isForwarded" | "origin">,
  json: JsonAnswer,
): Promise<Explanation> {
  const served = listed();
  if (served === undefined) return NOT_READY;
  const leases = new Map(
    gateway
      .status()
      .clusters.map(({ clusterId, live, expiresAt }) => [clusterId, live ? expiresAt : undefined]),
  );
  const steps = explain(
    { world: served.world, merged: served.merged, leaseOf: (clusterId) => leases.get(clusterId) },
    {
      ...json.Question[0]!,
      isForwarded: answered.isForwarded || answered.origin !== undefined,
      view: viewName(answered.view),
      status: json.Status,
      records: json.Answer ?? [],
    },
  );
  return served.merged === undefined ? finish(steps) : served.merged.turns.later.run(steps);
}

/** The most records of one explanation. */
const MOST_RECORDS = 1000;

/** An explanation as `/explain` returns it. */
export type JsonExplanation = Written<typeof ExplanationSchema>;

/** @param now Unix milliseconds by the gateway's clock */
export function jsonExplanation(
  { records, leases, ...explanation }: Explanation,
  json: JsonAnswer,
  { cluster, locality, isByLocation }: View,
  now: number,
): JsonExplanation {
  const { name, type } = json.Question[0]!;
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
    // They are those of the answer, in its order.
    records: records.slice(0, MOST_RECORDS).map(({ name, type, data, from }, index) => ({
      name,
      type: nameOfType(type),
      data,
      from,
      ttl: json.Answer?.[index]?.TTL ?? 0,
    })),
    recordCount: records.length,
    leases: leases.map(({ clusterId, expiresAt }) => ({
      clusterId,
      expiresInSeconds: expiresAt === undefined ? null : Math.max(0, Math.floor((expiresAt - now) / 1000)),
    })),
    comment: json.Comment,
  };
}
