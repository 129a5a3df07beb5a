import { html } from "hono/html";
import type { HttpRequest } from "../../messages/message.ts";
import { exampleIn } from "../directory.ts";
import {
  byNeed,
  clusterList,
  conflictList,
  findingList,
  type ListPageParts,
  partOf,
  searchForm,
  serviceList,
  servingSentence,
} from "../lists.ts";
import type { Html, Page } from "../page.ts";
import { counted } from "../page.ts";
import type { PageParts } from "../page-parts.ts";
import { explainedAnswer } from "./explained-answer.ts";
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
  const example = (await exampleIn(directory, zone)) ?? { name: `dns-version.${zone}`, type: "TXT" };
  const typed = readTypedQuestion(new URL(request.url));
  const result = typed === undefined ? undefined : await lookUp(parts, typed, request);
  const error = result !== undefined && "error" in result ? result.error : undefined;
  const clusterIds = status.clusters.map(({ clusterId }) => clusterId);
  const allClusters = byNeed(status);
  const clusters = allClusters.slice(0, FEW);
  return {
    title: typed === undefined ? "Look up" : `${typed.name.slice(0, 100)} ${typed.type.slice(0, 20)}`,
    at: "/",
    status: error === undefined ? 200 : 400,
    body: html`<h1>Look up a name</h1>
<p>Services of the clusterset have names in ${zones.map(
      (name, index) => html`${index === 0 ? "" : " and "}<code>${name}</code>`,
    )}. <a href="/setup">Set up a client</a> to use them.</p>
${lookUpForm(typed, clusterIds, example, error)}
${result !== undefined && "body" in result ? result.body : ""}
<h2>Clusters</h2>
${servingSentence(status, now)}
${clusterList(clusters, now)}
${more(allClusters.length, clusters.length, "/clusters", "clusters")}
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

/** Looks the typed question up; an invalid one becomes an error next to the form. */
async function lookUp(
  parts: LookUpPageParts,
  typed: TypedQuestion,
  request: HttpRequest,
): Promise<{ readonly error: string } | { readonly body: Html }> {
  const view = typed.view === "" ? undefined : typed.view;
  const looked = await explainedAnswer(parts, { search: toJsonQuestion(typed), view }, request);
  return "error" in looked ? looked : { body: lookUpResult(looked) };
}
