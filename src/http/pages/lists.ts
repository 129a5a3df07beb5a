import { html } from "hono/html";
import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import { byNeed, clusterFacts, type ListedCluster, servingSentence } from "../cluster-state.ts";
import type { PageParts } from "../doh/rule-answers.ts";
import { type ListPart, type ListRange, type Missing, SERVICE_KINDS } from "./directory.ts";
import { serviceGrid } from "./grid.ts";
import { clusterLink, counted, type Html, type Page, refreshed, serviceLink, someOf } from "./page.ts";

/** Entries on one page. */
const PAGE_ENTRIES = 50;
/** The most characters of a search. */
const LONGEST_SEARCH = 255;
const MOST_WORDS = 8;

/** `/services`: all services, or the matches of a search. */
export async function servicesPage(parts: PageParts, url: URL): Promise<Page> {
  const { directory, zones, clock } = parts;
  const zone = zones[0]!;
  const search = (url.searchParams.get("q") ?? "").slice(0, LONGEST_SEARCH);
  const range = pageOf(url);
  const part = await directory.services({ ...range, words: searchWords(search, zone) });
  const none = search === "" ? "No cluster exports a service." : "No service has a name with these words.";
  return {
    title: "Services",
    at: "/services",
    body: html`<h1>Services</h1>
${searchForm(search)}
${refreshed(html`${countOf(part, "service")}
${partOf(part, none, (rows) => serviceGrid(rows, byNeed(parts.gateway.status()), clock(), zone))}
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
export async function clustersPage({ gateway, directory, clock }: PageParts, url: URL): Promise<Page> {
  const range = pageOf(url);
  await directory.count(gateway.status());
  const status = gateway.status();
  const now = clock();
  const all = byNeed(status);
  const clusters = all.slice(range.offset, range.offset + range.most);
  return {
    title: "Clusters",
    at: "/clusters",
    body: html`<h1>Clusters</h1>
${refreshed(html`${servingSentence(status, now)}
${clusterList(clusters, now)}
${pager({ total: all.length, entries: clusters }, range, "/clusters?")}`)}`,
  };
}

/** `/conflicts`: the conflicts between clusters, and the findings. */
export async function conflictsPage({ directory }: PageParts, url: URL): Promise<Page> {
  const range = pageOf(url);
  const [conflicts, findings] = await Promise.all([directory.conflicts(range), directory.findings(range)]);
  const longer = [conflicts, findings].reduce((one, other) =>
    lengthOf(other) > lengthOf(one) ? other : one,
  );
  return {
    title: "Conflicts and findings",
    at: "/conflicts",
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

/** Clusters with their age. */
export function clusterList(clusters: readonly ListedCluster[], now: number): Html {
  return html`<ul class="list">${clusters.map(
    (cluster) =>
      html`<li><p class="entry">${clusterLink(cluster.clusterId)}</p>${clusterFacts(cluster, now)}</li>`,
  )}</ul>`;
}

/** The most clusters of a conflict that are named. */
const MOST_NAMED = 10;

/** Properties on which clusters disagree, by service, in KEP-1645's words, and the consequences. */
export function conflictList(conflicts: readonly Conflict[]): Html {
  const byService = Map.groupBy(conflicts, ({ namespace, name }) => `${namespace}/${name}`);
  return html`<ul class="list">${[...byService.values()].map(
    (
      own,
    ) => html`<li><p class="entry">${serviceLink(own[0]!.namespace, own[0]!.name)} ${own.length > 1 ? html`<span class="badge bad">${counted(own.length, "conflict")}</span>` : ""}</p>
${own.map(({ message, disagree }) => html`<p>${message}${disagree.length > 0 ? ` Set aside: ${someOf(disagree, MOST_NAMED)}.` : ""}</p>`)}</li>`,
  )}</ul>`;
}

/** Objects that are not served, or are served differently from their specification, with the reasons. */
export function findingList(findings: readonly ClusterFinding[]): Html {
  return html`<ul class="list">${findings.map(
    ({
      clusterId,
      kind,
      namespace,
      name,
      message,
      reason,
    }) => html`<li><p class="entry">${namespace !== undefined && SERVICE_KINDS.has(kind) ? serviceLink(namespace, name) : html`<code>${namespace === undefined ? name : `${namespace}/${name}`}</code>`}</p>
<p>${kind} of ${clusterLink(clusterId)}: ${message} <span class="soft">(${reason})</span></p></li>`,
  )}</ul>`;
}

/** A part of a list, or the reason why this host does not have it. */
export function partOf<Entry>(
  part: ListPart<Entry> | Missing,
  none: string,
  render: (entries: readonly Entry[]) => Html,
): Html {
  if ("missing" in part) return html`<p>${part.missing}</p>`;
  return part.total === 0 ? html`<p>${none}</p>` : render(part.entries);
}
