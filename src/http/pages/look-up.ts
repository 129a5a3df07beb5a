import { html } from "hono/html";
import { formatReverseName, parseAddress } from "../../dns/address.ts";
import { ResponseCode } from "../../dns/name.ts";
import { byNeed, servingSentence } from "../cluster-state.ts";
import type { PageParts } from "../doh/rule-answers.ts";
import type { JsonAnswer, JsonRecord } from "../json.ts";
import { encodeBase64url, type HttpRequest } from "../messages/message.ts";
import { exampleIn, FIRST_SERVICES, type ListPart, type Missing } from "./directory.ts";
import { type ExplainedAnswer, explainedAnswer, explanationView, type PageQuestion } from "./explained.ts";
import { serviceGrid, timeLine } from "./grid.ts";
import { conflictList, findingList, partOf, searchForm } from "./lists.ts";
import { withSession } from "./login.ts";
import {
  counted,
  describeOutcome,
  duration,
  type Html,
  nameOfType,
  natural,
  options,
  type Page,
  refreshed,
  viewField,
} from "./page.ts";

/** The number of entries of each list of objections here; its own page has more. */
const FEW = 10;

/** `/`: a look-up with its result, and lists of names. */
export async function lookUpPage(parts: PageParts, request: HttpRequest): Promise<Page> {
  const { gateway, directory, clock, zones } = parts;
  const zone = zones[0]!;
  const status = gateway.status();
  const now = clock();
  const range = { offset: 0, most: FEW };
  const [services, conflicts, findings] = await Promise.all([
    directory.services(FIRST_SERVICES),
    directory.conflicts(range),
    directory.findings(range),
  ]);
  const example = exampleIn(services, zone) ?? { name: `dns-version.${zone}`, type: "TXT" };
  const typed = readTypedQuestion(new URL(request.url));
  const looked = typed && (await explainedAnswer(parts, toPageQuestion(typed), request));
  // An invalid question becomes an error next to the form.
  const error = looked && "error" in looked ? looked.error : undefined;
  const clusterIds = status.clusters.map(({ clusterId }) => clusterId);
  const clusters = byNeed(status);
  const history = directory.history();
  const names =
    "missing" in services
      ? []
      : services.entries.map(({ namespace, name }) => `${name}.${namespace}.svc.${zone}`);
  // Below an answer they are not refreshed: what is read there does not move.
  const lists = html`${servingSentence(status, now)}
${"missing" in services ? "" : html`<p>${counted(services.total, "service")}.</p>`}
${partOf(services, "No cluster exports a service.", (rows) => serviceGrid(rows, clusters, now, zone))}
${more(services, "/services", "services")}
${
  history === undefined
    ? ""
    : html`<h2>What happened</h2>
${timeLine(history, now)}`
}
<h2>Conflicts</h2>
${partOf(conflicts, "No conflict: all clusters agree on what they export.", conflictList)}
${more(conflicts, "/conflicts", "conflicts")}
<h2>Findings</h2>
${partOf(findings, "No finding: everything exported is served.", findingList)}
${more(findings, "/conflicts", "findings")}`;
  return {
    title: typed === undefined ? "Look up" : `${typed.name.slice(0, 100)} ${typed.type.slice(0, 20)}`,
    at: "/",
    status: error === undefined ? 200 : 400,
    body: html`<h1>Look up a name</h1>
<p>Services of the clusterset have names in ${zones.map(
      (name, index) => html`${index === 0 ? "" : " and "}<code>${name}</code>`,
    )}. <a href="/setup">Set up a client</a> to use them.</p>
${lookUpForm(typed, clusterIds.sort(natural), example, names, error)}
${looked === undefined || "error" in looked ? "" : lookUpResult(looked, withSession(request) === undefined)}
<h2>Services by cluster</h2>
${"missing" in services ? "" : searchForm("")}
${typed === undefined ? refreshed(lists) : lists}`,
  };
}

/** A link to the whole of a list whose beginning is shown. */
function more(part: ListPart<unknown> | Missing, path: string, nouns: string): Html | string {
  if ("missing" in part || part.total <= part.entries.length) return "";
  return html`<p><a href="${path}">All ${part.total} ${nouns}</a></p>`;
}

/** A question as a person typed it. */
interface TypedQuestion {
  readonly name: string;
  readonly type: string;
  /** A cluster id; empty for outside. */
  readonly view: string;
}

/** Record types of services, and types that browsers query. */
const TYPES = ["A", "AAAA", "SRV", "PTR", "TXT", "CNAME", "NS", "SOA", "HTTPS", "ANY"];
/** The most characters of a typed text: a name has at most 255 bytes, of four characters each. */
const LONGEST_TEXT = 1024;

/** The question in a URL's `name`, `type` and `view`; undefined without a name. */
function readTypedQuestion(url: URL): TypedQuestion | undefined {
  const read = (name: string) => (url.searchParams.get(name) ?? "").trim().slice(0, LONGEST_TEXT);
  const name = read("name");
  return name === "" ? undefined : { name, type: read("type") || "A", view: read("view") };
}

/** The same question in the JSON form: an address becomes its reverse name (RFC 1035 section 3.5). */
function toPageQuestion({ name, type, view }: TypedQuestion): PageQuestion {
  const address = parseAddress(name);
  const search =
    address === undefined
      ? `name=${encodeURIComponent(name)}&type=${encodeURIComponent(type)}`
      : `name=${formatReverseName(address)}&type=PTR`;
  return { search, view: view || undefined };
}

/**
 * The form. It works without a script, and keeps the typed values.
 * @param names for completion
 * @param error what is wrong with the values
 */
function lookUpForm(
  typed: TypedQuestion | undefined,
  clusters: readonly string[],
  example: Pick<TypedQuestion, "name" | "type">,
  names: readonly string[],
  error?: string,
): Html {
  const type = typed?.type.toUpperCase() ?? "A";
  const types = TYPES.includes(type) ? TYPES : [...TYPES, type];
  return html`<form action="/#answer" method="get" role="search" aria-label="Look up a name">
<div class="wide"><label for="name">Name, or an IP address</label>
<input id="name" name="name" list="names"${typed === undefined ? html` autofocus` : ""} required maxlength="${LONGEST_TEXT}" value="${typed?.name ?? ""}" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="name-hint${error === undefined ? "" : " error"}"${error === undefined ? "" : html` aria-invalid="true"`}><datalist id="names">${names.map((one) => html`<option value="${one}"></option>`)}</datalist></div>
<div><label for="type">Type</label>
<select id="type" name="type">${options(types, type)}</select></div>
${viewField("View", typed?.view ?? "", clusters)}
<button>Look up</button>
</form>
${error === undefined ? "" : html`<p class="note" role="alert" id="error">${error}</p>`}
<p class="hint" id="name-hint">For example <a href="/?name=${encodeURIComponent(example.name)}&amp;type=${example.type}#answer">${example.name}</a>. For an address the page looks up its reverse name.</p>`;
}

/** The most records that the page shows. */
const MOST_RECORDS = 100;

/**
 * An answer: a sentence, its explanation, its records.
 * @param hasLinks whether the browser may query, too: its session does not count for queries
 */
function lookUpResult({ json, query, path, search, explanation }: ExplainedAnswer, hasLinks: boolean): Html {
  const question = json.Question[0] ?? { name: ".", type: 0 };
  const type = nameOfType(question.type);
  const isGood = json.Status === ResponseCode.NOERROR && json.Answer !== undefined;
  return html`<section aria-labelledby="answer">
<h2 id="answer"><code>${question.name.replace(/(.)\.$/, "$1")}</code> ${type}</h2>
<p class="verdict ${isGood ? "good" : "bad"}">${describeOutcome(json.Status, json.Answer?.length ?? 0, type)}</p>
<p class="soft">${json.Comment.slice(0, 1).toUpperCase()}${json.Comment.slice(1)}.</p>
${explanationView(explanation, path, search)}
${recordTable(json)}
${hasLinks ? html`<p class="hint">The answer <a href="${path}/resolve?${search}">as JSON</a> and <a href="${path}/dns-query?dns=${encodeBase64url(query)}">as a DNS message</a></p>` : ""}
</section>`;
}

const SECTIONS = ["Answer", "Authority", "Additional"] as const;

function recordTable(json: JsonAnswer): Html | string {
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

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… (${text.length - most} characters more)` : text;
}
