import { html } from "hono/html";
import type { ExplainedService } from "../../explain/explanation.ts";
import { describeUnanswered, type PageParts } from "../doh/rule-answers.ts";
import { explainAnswered, type JsonExplanation } from "../explain.ts";
import type { JsonAnswer } from "../json.ts";
import { readJsonQuestion } from "../json-question.ts";
import type { HttpRequest } from "../messages/message.ts";
import { clusterLink, duration, type Html, serviceLink, suggestionList } from "./page.ts";

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
  readonly json: JsonAnswer;
  readonly explanation: JsonExplanation;
  /** `/clusters/<cluster id>` for a cluster's view, else empty. */
  readonly path: string;
  readonly search: string;
}

/**
 * Queries like the JSON form: what a client may not see is answered and explained as what does not exist. An
 * `error` is a sentence for the page.
 */
export async function explainedAnswer(
  parts: PageParts,
  { search, view }: PageQuestion,
  request: HttpRequest,
): Promise<{ readonly error: string } | ExplainedAnswer> {
  const { answerQuery, endpointAt, gateway } = parts;
  if (view !== undefined && !gateway.hasCluster(view))
    return {
      error: `no cluster ${JSON.stringify(view.slice(0, 100))} has pushed to this gateway: choose another one, or outside`,
    };
  const question = readJsonQuestion(`?${search}`);
  if ("error" in question) return question;
  const { query } = question;
  const endpoint = endpointAt(view === undefined ? "/resolve" : "/clusters", view);
  const answered = await answerQuery(request, query, endpoint);
  if (typeof answered === "string" || answered.retryAfter !== undefined)
    return { error: describeUnanswered(answered) };
  const explained = await explainAnswered(parts, answered);
  if (explained === undefined) return { error: "another name server sent an unreadable answer" };
  const path = view === undefined ? "" : `/clusters/${encodeURIComponent(view)}`;
  return { ...explained, query, search, path };
}

/** The most records, properties and objections that the page shows of each. */
const MOST = 30;

/** Why an answer is what it is. @param path `/clusters/<cluster id>` for a cluster's view, else empty */
export function explanationView(explanation: JsonExplanation, path: string, search: string): Html {
  const { code, message, records, recordCount, leases, service, conflicts, findings, suggestions, omitted } =
    explanation;
  const { type } = explanation.question;
  const { cluster } = explanation.view;
  return html`${code === "ANSWERED" ? "" : html`<p>${message}</p>`}
${suggestionList(suggestions, { type, ...(cluster !== undefined && { view: cluster }) })}
${
  service === undefined
    ? ""
    : html`<p>The service ${serviceLink(service.namespace, service.name)} is ${service.type}. Its addresses in this view: ${service.addresses}.</p>`
}
<div class="facts">
${list(
  "Exported by",
  (service?.exporters ?? []).map(
    ({ clusterId, stated, exportedTo, countsFrom, because }) =>
      html`${clusterLink(clusterId)}${exportedTo === undefined ? "" : html` to ${exportedTo.join(", ") || "itself alone"}`}, since <time>${stated}</time>${countsFrom === undefined ? "" : html`; counts from ${countsFrom}: ${because}`}`,
  ),
)}
${list(
  "Where the records come from",
  records.map(
    (record) =>
      html`<code>${record.data}</code> ${record.type}: ${record.from.length === 0 ? "the gateway" : record.from.join(", ")}`,
  ),
  recordCount,
)}
${list(
  "Until when",
  leases.map(({ clusterId, expiresInSeconds }) =>
    expiresInSeconds === null
      ? html`${clusterId} is not live`
      : html`the lease of ${clusterId} expires in ${duration(expiresInSeconds * 1000)}, unless its worker renews it`,
  ),
)}
</div>
${service === undefined || service.properties.length === 0 ? "" : html`<h3>Who decides</h3>${propertyTable(service.properties)}`}
${list(
  "Conflicts of this service",
  conflicts.map(({ message: text }) => html`${text}`),
)}
${list(
  "Findings of this service",
  findings.map(({ clusterId, reason, message: text }) => html`${clusterId}: ${reason}: ${text}`),
)}
${omitted.map((sentence) => html`<p class="hint">${sentence}</p>`)}
<p class="hint"><a href="${path}/explain?${search}">The explanation as JSON</a></p>`;
}

/** The properties of a service, and which cluster decides each and why. */
export function propertyTable(properties: ExplainedService["properties"]): Html {
  return html`<div class="sheet prose" tabindex="0" role="region" aria-label="Who decides"><table>
<thead><tr><th scope="col">Property</th><th scope="col">Value</th><th scope="col">Decided by</th><th scope="col">Because</th><th scope="col">Set aside</th></tr></thead>
<tbody>${properties
    .slice(0, MOST)
    .map(
      ({ property, value, decidedBy, because, otherwise }) =>
        html`<tr><td>${property}</td><td>${value}</td><td>${decidedBy === undefined ? "the gateway" : clusterLink(decidedBy)}</td><td>${because}</td><td>${otherwise.map(({ clusterId, value: theirs }) => `${clusterId}: ${theirs}`).join("; ")}</td></tr>`,
    )}</tbody></table></div>`;
}

function list(title: string, entries: readonly Html[], total = entries.length): Html | string {
  if (entries.length === 0) return "";
  const rest = total - Math.min(entries.length, MOST);
  return html`<div><h3>${title}</h3>
<ul>${entries.slice(0, MOST).map((entry) => html`<li>${entry}</li>`)}${rest > 0 ? html`<li>${rest} more</li>` : ""}</ul></div>`;
}
