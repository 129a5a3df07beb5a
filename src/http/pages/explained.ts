import { html } from "hono/html";
import type { Answered } from "../../answer/answer-query.ts";
import { HEADER_BYTES } from "../../dns/name.ts";
import { readName, readRecord, readWord } from "../../dns/wire-reader.ts";
import type { ExplainedProperty } from "../../explain/explanation.ts";
import { describeUnanswered } from "../doh/rule-answers.ts";
import { encodeBase64url } from "../doh/url.ts";
import { explainAnswer, type JsonExplanation, jsonExplanation } from "../explain.ts";
import { type ReadAnswer, readAnswered } from "../json.ts";
import { readJsonQuestion } from "../json-question.ts";
import type { HttpRequest } from "../messages/message.ts";
import type { PageParts } from "./directory.ts";
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
  readonly answer: Answered["answer"];
  readonly read: ReadAnswer;
  readonly explanation: JsonExplanation;
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
  const question = readJsonQuestion(`?${search}`);
  if ("error" in question) return question;
  const { query } = question;
  const endpoint = endpointAt(view === undefined ? "/resolve" : "/clusters", view);
  const answered = await answerQuery(request, query, endpoint);
  if (typeof answered === "string" || answered.retryAfter !== undefined)
    return { error: describeUnanswered(answered) };
  const now = clock();
  const read = readAnswered(answered, gateway, now);
  if (read === undefined) return { error: "another name server sent an unreadable answer" };
  const explanation = explainAnswer({ listed, gateway }, answered, read.json);
  return {
    query,
    answer: answered.answer,
    read,
    search,
    explanation: jsonExplanation(explanation, read.json, answered.view, now),
    path: view === undefined ? "" : `/clusters/${encodeURIComponent(view)}`,
  };
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
export function propertyTable(properties: readonly ExplainedProperty[]): Html {
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

/** A part of a message (RFC 1035 section 4.1). */
interface MessagePart {
  readonly title: string;
  readonly start: number;
  readonly end: number;
}

/** The most bytes of a message that the page shows. */
const MOST_SHOWN = 1024;

const SECTIONS = ["Question", "Answer", "Authority", "Additional"] as const;

/** The ranges of a message's header and sections; from a malformed position on, the rest is one part. */
function splitMessage(message: Uint8Array): readonly MessagePart[] {
  if (message.length < HEADER_BYTES) return [{ title: "Message", start: 0, end: message.length }];
  const parts: MessagePart[] = [{ title: "Header", start: 0, end: HEADER_BYTES }];
  let at = HEADER_BYTES;
  for (const [index, title] of SECTIONS.entries()) {
    const start = at;
    for (let left = readWord(message, 4 + index * 2); left > 0 && at >= 0; left--)
      at = index === 0 ? skipQuestion(message, at) : (readRecord(message, at)?.end ?? -1);
    if (at < 0) return [...parts, { title: "Rest", start, end: message.length }];
    if (at > start) parts.push({ title, start, end: at });
  }
  if (at < message.length) parts.push({ title: "Rest", start: at, end: message.length });
  return parts;
}

function skipQuestion(message: Uint8Array, at: number): number {
  const end = readName(message, at);
  return end < 0 || end + 4 > message.length ? -1 : end + 4;
}

/** Bytes in a line of hex: few enough for a phone's width. */
const LINE_BYTES = 8;

/** Bytes in hex and as ASCII, with their offsets in the message. */
function hexLines(message: Uint8Array, start: number, end: number): string {
  const lines: string[] = [];
  for (let at = start; at < end; at += LINE_BYTES) {
    const bytes = [...message.subarray(at, Math.min(at + LINE_BYTES, end))];
    const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = bytes.map((byte) => (byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(4, "0")}  ${hex.padEnd(LINE_BYTES * 3 - 1)}  ${text}`);
  }
  return lines.join("\n");
}

/** A message in wire format: each part in hex, and all of it in base64url. */
export function messageView(message: Uint8Array): Html {
  const shown = message.subarray(0, MOST_SHOWN);
  const parts = splitMessage(message).filter(({ start }) => start < shown.length);
  return html`${parts.map(
    ({ title, start, end }) => html`<p class="hint">${title}, ${end - start} bytes</p>
<pre tabindex="0" aria-label="${title} in hex">${hexLines(message, start, Math.min(end, shown.length))}</pre>`,
  )}
${shown.length < message.length ? html`<p class="hint">The first ${shown.length} of ${message.length} bytes.</p>` : ""}
<p class="hint">base64url${shown.length < message.length ? ", the beginning" : ""}</p>
<pre class="wrap">${encodeBase64url(shown)}</pre>`;
}
