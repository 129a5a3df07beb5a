import { html } from "hono/html";
import { describeUnanswered } from "../../doh/answer-response.ts";
import { explainAnswer } from "../../explain/explain-answer.ts";
import { jsonExplanation } from "../../explain/json-explanation.ts";
import { describeAnswered } from "../../json/freshness-comment.ts";
import { type ReadAnswer, readAnswer } from "../../json/json-answer.ts";
import { JsonQuestionError, readJsonQuestion } from "../../json/json-question.ts";
import type { HttpRequest } from "../../messages/http-message.ts";
import { type ListPageParts, searchForm } from "../list-pages.ts";
import {
  byNeed,
  clusterList,
  conflictList,
  findingList,
  partOf,
  serviceList,
  servingSentence,
} from "../lists.ts";
import type { Html, Page } from "../page.ts";
import type { PageParts } from "../page-parts.ts";
import { counted } from "../words.ts";
import { lookUpForm, readTypedQuestion, type TypedQuestion, toJsonQuestion } from "./look-up-form.ts";
import { lookUpResult } from "./look-up-result.ts";

/** The parts of `/`. */
export type LookUpPageParts = PageParts & ListPageParts;

/** The number of entries of each list here; the lists' own pages have more. */
const FEW = 10;

/** `/`: a look-up with its result, and lists of names. */
export async function lookUpPage(parts: LookUpPageParts, request: HttpRequest): Promise<Page> {
  const { gateway, directory, clock, zone, zones } = parts;
  const status = gateway.status();
  const now = clock();
  const range = { offset: 0, most: FEW };
  const [services, conflicts, findings] = await Promise.all([
    directory.services({ ...range, words: [], view: undefined }),
    directory.conflicts(range),
    directory.findings(range),
  ]);
  const first = "missing" in services ? undefined : services.entries[0];
  const example = `${first === undefined ? "dns-version" : `${first.name}.${first.namespace}.svc`}.${zone}`;
  const typed = readTypedQuestion(new URL(request.url));
  const result = typed === undefined ? undefined : await lookUp(parts, typed, request);
  const fault = result !== undefined && "fault" in result ? result.fault : undefined;
  const clusterIds = status.clusters.map(({ clusterId }) => clusterId);
  const clusters = byNeed(status.clusters).slice(0, FEW);
  return {
    title: typed === undefined ? "Look up" : `${typed.name.slice(0, 100)} ${typed.type.slice(0, 20)}`,
    at: "/",
    status: fault === undefined ? 200 : 400,
    body: html`<h1>Look up a name</h1>
<p>Services of the clusterset have names in ${zones.map(
      (name, index) => html`${index === 0 ? "" : " and "}<code>${name}</code>`,
    )}. <a href="/setup">Set up a client</a> to use them.</p>
${lookUpForm(typed, clusterIds, example, fault)}
${result !== undefined && "body" in result ? result.body : ""}
<h2>Clusters</h2>
${servingSentence(status, now)}
${clusterList(clusters, now)}
${more(status.clusters.length, clusters.length, "/clusters", "clusters")}
<h2>Services</h2>
${"missing" in services ? "" : html`<p>${counted(services.total, "service")}.</p>${searchForm("")}`}
${partOf(services, "No cluster exports a service.", (entries) => serviceList(entries, zone))}
${"missing" in services ? "" : more(services.total, services.entries.length, "/services", "services")}
<h2>Conflicts</h2>
${partOf(conflicts, "No conflict: all clusters agree on what they export.", conflictList)}
${"missing" in conflicts ? "" : more(conflicts.total, conflicts.entries.length, "/conflicts", "conflicts")}
<h2>Findings</h2>
${partOf(findings, "No finding: everything exported is served.", findingList)}
${"missing" in findings ? "" : more(findings.total, findings.entries.length, "/conflicts", "findings")}`,
  };
}

function more(total: number, shown: number, path: string, nouns: string): Html | string {
  return total > shown ? html`<p><a href="${path}">All ${total} ${nouns}</a></p>` : "";
}

/** Asks like the JSON form; an invalid question becomes an error next to the form. */
async function lookUp(
  { answerQuery, endpointAt, gateway, clock, listed }: LookUpPageParts,
  typed: TypedQuestion,
  request: HttpRequest,
): Promise<{ readonly fault: string } | { readonly body: Html }> {
  const search = toJsonQuestion(typed);
  const view = typed.view === "" ? undefined : typed.view;
  if (view !== undefined && !gateway.hasCluster(view))
    return {
      fault: `no cluster ${JSON.stringify(view.slice(0, 100))} has pushed to this gateway: choose another one, or outside`,
    };
  let query: Uint8Array<ArrayBuffer>;
  try {
    query = readJsonQuestion(`?${search}`).query;
  } catch (error) {
    if (!(error instanceof JsonQuestionError)) throw error;
    return { fault: error.message };
  }
  const endpoint = endpointAt(view === undefined ? "/resolve" : "/clusters", view);
  const answered = await answerQuery(request, query, endpoint);
  if (typeof answered === "string" || answered.retryAfter !== undefined)
    return { fault: describeUnanswered(answered) };
  const { answer, isForwarded } = answered;
  const comment = describeAnswered(answered, () => gateway.status(), clock());
  let read: ReadAnswer;
  try {
    read = readAnswer(answer.bytes, comment);
  } catch (error) {
    if (!isForwarded && answered.origin === undefined) throw error;
    return { fault: "another name server sent an unreadable answer" };
  }
  const explanation = explainAnswer({ listed, status: () => gateway.status() }, answered, read.json);
  return {
    body: lookUpResult({
      explanation: jsonExplanation(explanation, read.json, answered.view, clock()),
      query,
      answer: answer.bytes,
      read,
      freshness: answer.freshness,
      comment,
      path: view === undefined ? "" : `/clusters/${encodeURIComponent(view)}`,
      search,
    }),
  };
}
