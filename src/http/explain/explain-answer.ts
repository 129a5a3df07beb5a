import { viewName } from "../../access/view/view.ts";
import type { Answered } from "../../answer/answer-query.ts";
import { type ExplainSource, explain } from "../../explain/explain.ts";
import type { Explanation } from "../../explain/explanation.ts";
import type { ServingStatus } from "../../gateway/gateway-types.ts";
import type { JsonAnswer } from "../json/json-answer.ts";
import type { Listed } from "../pages/directory.ts";

/** Where an explanation comes from: both as far as things exist for the client. */
export interface ExplainedFrom {
  readonly listed: () => Listed | undefined;
  readonly status: () => ServingStatus;
}

const NOT_READY: Explanation = {
  code: "NOT_READY",
  message: "Nothing is known yet: no cluster has pushed, or every lease has expired.",
  ...{ records: [], leases: [], conflicts: [], findings: [], suggestions: [], omitted: [] },
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
    ...{ name, type, isForwarded, view: viewName(answered.view), status: json.Status },
    records: json.Answer ?? [],
  });
}
