import type { Answered } from "../../../answer/answer-query.ts";
import { describeUnanswered } from "../../doh/answer-response.ts";
import { explainAnswer, type JsonExplanation, jsonExplanation } from "../../explain.ts";
import { describeAnswered } from "../../json/freshness-comment.ts";
import { type ReadAnswer, readAnswer } from "../../json/json-answer.ts";
import { JsonQuestionError, readJsonQuestion } from "../../json/json-question.ts";
import type { HttpRequest } from "../../messages/message.ts";
import type { PageParts } from "../page-parts.ts";

/** A question of a page, with its client. */
export interface PageQuestion {
  /** The parameters of the JSON form: `name=…&type=…`. */
  readonly search: string;
  /** A cluster id; undefined for the client's own view. */
  readonly view: string | undefined;
}

/** A question with its answer and the explanation of it. */
export interface ExplainedAnswer {
  readonly query: Uint8Array;
  readonly answer: Answered["answer"];
  readonly read: ReadAnswer;
  readonly explanation: JsonExplanation;
  /** The view and the age of the answer as text. */
  readonly comment: string;
  /** `/clusters/<cluster id>` for a cluster's view, else empty. */
  readonly path: string;
  readonly search: string;
}

/** Queries like the JSON form: what a client may not see is answered and explained as what does not exist. An `error` is a sentence for the page. */
export async function explainedAnswer(
  { answerQuery, endpointAt, gateway, clock, listed }: PageParts,
  { search, view }: PageQuestion,
  request: HttpRequest,
): Promise<{ readonly error: string } | ExplainedAnswer> {
  if (view !== undefined && !gateway.hasCluster(view))
    return {
      error: `no cluster ${JSON.stringify(view.slice(0, 100))} has pushed to this gateway: choose another one, or outside`,
    };
  let query: Uint8Array<ArrayBuffer>;
  try {
    query = readJsonQuestion(`?${search}`).query;
  } catch (error) {
    if (!(error instanceof JsonQuestionError)) throw error;
    return { error: error.message };
  }
  const endpoint = endpointAt(view === undefined ? "/resolve" : "/clusters", view);
  const answered = await answerQuery(request, query, endpoint);
  if (typeof answered === "string" || answered.retryAfter !== undefined)
    return { error: describeUnanswered(answered) };
  const { answer, isForwarded } = answered;
  const status = () => gateway.status();
  const comment = describeAnswered(answered, status, clock());
  let read: ReadAnswer;
  try {
    read = readAnswer(answer.bytes, comment);
  } catch (error) {
    if (!isForwarded && answered.origin === undefined) throw error;
    return { error: "another name server sent an unreadable answer" };
  }
  const explanation = explainAnswer({ listed, status }, answered, read.json);
  return {
    ...{ query, answer, read, comment, search },
    explanation: jsonExplanation(explanation, read.json, answered.view, clock()),
    path: view === undefined ? "" : `/clusters/${encodeURIComponent(view)}`,
  };
}
