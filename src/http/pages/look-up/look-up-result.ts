import { html } from "hono/html";
import { ResponseCode } from "../../../dns/codes.ts";
import type { JsonRecord, ReadAnswer } from "../../json/json-answer.ts";
import type { Html } from "../page.ts";
import {
  describeExtendedError,
  describeFlags,
  describeOutcome,
  duration,
  nameOfCode,
  nameOfType,
} from "../page.ts";
import type { ExplainedAnswer } from "./explained-answer.ts";
import { explanationView } from "./explanation-view.ts";
import { messageView, toBase64url } from "./message-view.ts";

/** The most records and characters that the page shows. */
const MOST_RECORDS = 100;
const MOST_CHARACTERS = 6000;

/** An answer: a sentence, its explanation, its records; folded away its wire and JSON forms side by side, and the meaning of its parts. */
export function lookUpResult(looked: ExplainedAnswer): Html {
  const { json, isAuthoritative, extendedErrors } = looked.read;
  const asked = json.Question[0] ?? { name: ".", type: 0 };
  const type = nameOfType(asked.type);
  const isGood = json.Status === ResponseCode.NOERROR && json.Answer !== undefined;
  return html`<section aria-labelledby="answer">
<h2 id="answer"><code>${asked.name.replace(/(.)\.$/, "$1")}</code> ${type}</h2>
<p class="verdict ${isGood ? "good" : "bad"}">${describeOutcome(json.Status, json.Answer?.length ?? 0, type)}</p>
${extendedErrors.map(
  ({ code, text }) =>
    html`<p>Extended DNS Error ${code}: ${describeExtendedError(code)}.${text === "" ? "" : html` The gateway says: “${text}”.`}</p>`,
)}
<p class="soft">${looked.comment.slice(0, 1).toUpperCase()}${looked.comment.slice(1)}.</p>
${explanationView(looked.explanation, looked.path, looked.search)}
${recordTable(json)}
<details><summary>Wire format and JSON</summary>
<div class="halves">
<div><h3>Wire format</h3>
${messageView(looked.answer.bytes)}
<p><a href="${looked.path}/dns-query?dns=${toBase64url(looked.query)}">The same by GET (RFC 8484)</a></p>
<details><summary>The query in wire format</summary><div>
${messageView(looked.query)}
</div></details></div>
<div><h3>JSON</h3>
${jsonView(looked)}
<h3>What it means</h3>
<dl>
<dt>${nameOfCode(json.Status)}</dt><dd>the response code, ${json.Status}${json.Status > 15 ? " (extended by EDNS)" : ""}</dd>
${describeFlags({ ...json, AA: isAuthoritative }).map(([flag, meaning]) => html`<dt>${flag}</dt><dd>${meaning}</dd>`)}
<dt>Lifetime</dt><dd>${
    looked.answer.freshness > 0
      ? `clients and caches may keep this answer for ${duration(looked.answer.freshness * 1000)}`
      : "no cache may keep this answer"
  }</dd>
<dt>Answer</dt><dd>records that answer the query</dd>
<dt>Authority</dt><dd>the zone of the answer: in a negative answer, the SOA record with its negative TTL</dd>
<dt>Additional</dt><dd>records for the client's next queries, such as addresses of SRV targets</dd>
</dl></div>
</div></details>
</section>`;
}

const SECTIONS = ["Answer", "Authority", "Additional"] as const;

function recordTable(json: ReadAnswer["json"]): Html | string {
  const rows: (readonly [section: string, record: JsonRecord])[] = SECTIONS.flatMap((section) =>
    (json[section] ?? []).map((record) => [section, record] as const),
  );
  if (rows.length === 0) return "";
  return html`<div class="sheet" tabindex="0" role="region" aria-label="Records"><table>
<caption>Records${rows.length > MOST_RECORDS ? `: the first ${MOST_RECORDS} of ${rows.length}` : ""}</caption>
<thead><tr><th scope="col">Data</th><th scope="col">Type</th><th scope="col">TTL</th><th scope="col">Section</th><th scope="col">Name</th></tr></thead>
<tbody>${rows
    .slice(0, MOST_RECORDS)
    .map(
      ([section, { name, type, TTL, data }]) =>
        html`<tr><td><code>${cut(data, 300)}</code></td><td>${nameOfType(type)}</td><td>${duration(TTL * 1000)}</td><td>${section}</td><td><code>${name}</code></td></tr>`,
    )}</tbody></table></div>`;
}

function jsonView({ read, path, search }: ExplainedAnswer): Html {
  const text = JSON.stringify(read.json, undefined, 2);
  return html`<pre tabindex="0" aria-label="The answer in JSON">${cut(text, MOST_CHARACTERS)}</pre>
<p><a href="${path}/resolve?${search}">The same as JSON</a></p>`;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… (${text.length - most} characters more)` : text;
}
