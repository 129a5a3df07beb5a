import { html } from "hono/html";
import type { DohGateway } from "../../gateway/scoped-gateway.ts";
import type { Directory, ListPart, ListRange, Missing } from "./directory.ts";
import {
  byNeed,
  clusterList,
  conflictList,
  findingList,
  partOf,
  serviceList,
  servingSentence,
} from "./lists.ts";
import type { Html, Page } from "./page.ts";
import { refreshed, WITH_SCRIPT } from "./script.ts";
import { counted } from "./words.ts";

/** The content of the list pages. */
export interface ListPageParts {
  readonly gateway: Pick<DohGateway, "status">;
  readonly directory: Directory;
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** The zone of the shown names. */
  readonly zone: string;
}

/** Entries on one page. */
const PAGE_ENTRIES = 50;
/** The most characters of a search. */
const LONGEST_SEARCH = 255;
const MOST_WORDS = 8;

/** `/services`: all services, or the matches of a search. */
export async function servicesPage({ directory, zone }: ListPageParts, url: URL): Promise<Page> {
  const search = (url.searchParams.get("q") ?? "").slice(0, LONGEST_SEARCH);
  const range = pageOf(url);
  const part = await directory.services({ ...range, words: searchWords(search, zone), view: undefined });
  const none = search === "" ? "No cluster exports a service." : "No service has a name with these words.";
  return {
    title: "Services",
    at: "/services",
    ...WITH_SCRIPT,
    body: html`<h1>Services</h1>
${searchForm(search)}
${refreshed(html`${countOf(part, "service")}
${partOf(part, none, (services) => serviceList(services, zone))}
${pager(part, range, `/services?q=${encodeURIComponent(search)}&`)}`)}`,
  };
}

/** The search form for services; it opens `/services`. */
export function searchForm(search: string): Html {
  return html`<form action="/services" method="get" role="search" aria-label="Find a service">
<div class="wide"><label for="q">Service or namespace</label>
<input id="q" name="q" type="search" value="${search}" maxlength="${LONGEST_SEARCH}" autocomplete="off" autocapitalize="none" spellcheck="false"></div>
<button>Find</button>
</form>`;
}

/** The words of a search; a full name in the zone becomes its service and namespace. */
function searchWords(search: string, zone: string): readonly string[] {
  const text = search.trim().toLowerCase().replace(/\.$/, "");
  const suffix = `.svc.${zone}`;
  return (text.endsWith(suffix) ? text.slice(0, -suffix.length) : text)
    .split(/[\s/]+/)
    .filter((word) => word !== "")
    .slice(0, MOST_WORDS);
}

/** `/clusters`: each cluster with the age of its snapshot and its lease. */
export function clustersPage({ gateway, clock }: ListPageParts, url: URL): Page {
  const range = pageOf(url);
  const status = gateway.status();
  const now = clock();
  const all = byNeed(status);
  const clusters = all.slice(range.offset, range.offset + range.most);
  return {
    title: "Clusters",
    at: "/clusters",
    ...WITH_SCRIPT,
    body: html`<h1>Clusters</h1>
${refreshed(html`${servingSentence(status, now)}
${clusterList(clusters, now)}
${pager({ total: all.length, entries: clusters }, range, "/clusters?")}`)}`,
  };
}

/** `/conflicts`: the conflicts between clusters, and the findings. */
export async function conflictsPage({ directory }: ListPageParts, url: URL): Promise<Page> {
  const range = pageOf(url);
  const [conflicts, findings] = await Promise.all([directory.conflicts(range), directory.findings(range)]);
  const longer = [conflicts, findings].reduce((one, other) =>
    lengthOf(other) > lengthOf(one) ? other : one,
  );
  return {
    title: "Conflicts and findings",
    at: "/conflicts",
    ...WITH_SCRIPT,
    body: html`<h1>Conflicts and findings</h1>
${refreshed(html`<h2>Conflicts</h2>
<p class="hint">Clusters export one service with different properties. The oldest export decides (KEP-1645).</p>
${countOf(conflicts, "conflict")}
${partOf(conflicts, "No conflict: all clusters agree.", conflictList)}
<h2>Findings</h2>
<p class="hint">Objects that are not served, or are served differently from their specification.</p>
${countOf(findings, "finding")}
${partOf(findings, "No finding: everything exported is served.", findingList)}
${pager(longer, range, "/conflicts?")}`)}`,
  };
}

function lengthOf(part: ListPart<unknown> | Missing): number {
  return "missing" in part ? 0 : part.total;
}

function countOf(part: ListPart<unknown> | Missing, noun: string): Html | string {
  return "missing" in part || part.total === 0 ? "" : html`<p>${counted(part.total, noun)}.</p>`;
}

/** The part of a list that a URL selects. */
export function pageOf(url: URL): ListRange {
  const page = Number(/^[1-9]\d{0,6}$/.exec(url.searchParams.get("page") ?? "")?.[0] ?? 1);
  return { offset: (page - 1) * PAGE_ENTRIES, most: PAGE_ENTRIES };
}

/** Links to the pages of a list. @param url without `page` */
export function pager(
  part: ListPart<unknown> | Missing,
  { offset, most }: ListRange,
  url: string,
): Html | string {
  if ("missing" in part || (part.total <= most && offset === 0)) return "";
  const page = offset / most + 1;
  const pages = Math.max(1, Math.ceil(part.total / most));
  return html`<nav aria-label="Pages of the list" class="pages">
${page > 1 ? html`<a href="${url}page=${Math.min(page - 1, pages)}" rel="prev">Previous</a>` : ""}
<span>Page ${page} of ${pages}</span>
${page < pages ? html`<a href="${url}page=${page + 1}" rel="next">Next</a>` : ""}
</nav>`;
}
