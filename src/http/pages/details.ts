import { html } from "hono/html";
import type { ServiceListing } from "../../names/service-listing.ts";
import { isObjectLabel } from "../../zone/kinds/endpoint-records.ts";
import { byNeed, clusterFacts } from "../cluster-state.ts";
import type { PageParts } from "../doh/rule-answers.ts";
import type { JsonExplanation } from "../explain.ts";
import type { HttpRequest } from "../messages/message.ts";
import type { ClusterExport, ClusterExports, ListRange, Missing } from "./directory.ts";
import { type ExplainedAnswer, explainedAnswer, propertyTable } from "./explained.ts";
import { conflictList, findingList, pageOf, pager, partOf } from "./lists.ts";
import {
  clusterLink,
  copied,
  counted,
  duration,
  type Html,
  notFoundPage,
  type Page,
  refreshed,
  serviceLink,
  suggestionList,
  viewField,
} from "./page.ts";

/** The verdicts after which there is no service to show. */
const NOTHING_THERE: ReadonlySet<string> = new Set([
  "NO_NAMESPACE",
  "NOT_EXPORTED",
  "NO_SUCH_NAME",
  "OUT_OF_ZONE",
]);

/**
 * `/services/<namespace>/<name>?view=<cluster id>`: what is answered for a service, from which clusters, and
 * why.
 */
export async function servicePage(
  parts: PageParts,
  requested: RequestedService,
  request: HttpRequest,
): Promise<Page> {
  if (!isObjectLabel(requested.namespace) || !isObjectLabel(requested.name))
    return notFoundPage("the address does not name a service: /services/<namespace>/<name>");
  const facts = await serviceFacts(parts, requested, request);
  if ("error" in facts) return notFoundPage(facts.error);
  const page = { title: `${requested.name} in ${requested.namespace}`, at: "/services" };
  const heading = html`<h1><code>${requested.name}</code> in <code>${requested.namespace}</code></h1>`;
  const { service, code } = facts.explanation;
  if (service === undefined && facts.listing === undefined && NOTHING_THERE.has(code))
    return { ...page, status: 404, body: html`${heading}${absent(facts)}` };
  const views = parts.gateway
    .status()
    .clusters.flatMap(({ clusterId }) => (parts.gateway.hasCluster(clusterId) ? clusterId : []));
  return {
    ...page,
    body: html`${heading}${viewForm(requested, views)}${refreshed(present(facts, parts))}`,
  };
}

function absent({ explanation: { message, suggestions } }: ServiceFacts): Html {
  return html`<p class="verdict bad">${message}</p>
${suggestionList(suggestions)}
<p><a href="/services">All services</a></p>`;
}

function viewForm({ namespace, name, view = "" }: RequestedService, clusters: readonly string[]): Html {
  return html`<form action="/services/${namespace}/${name}" method="get" aria-label="Choose a view">
${viewField("Seen from", view, clusters)}
<button>Show</button>
</form>`;
}

function present(facts: ServiceFacts, { zones }: PageParts): Html {
  const { service, conflicts, findings, omitted, message, comment } = facts.explanation;
  const { addressCount } = facts;
  return html`<p class="verdict ${addressCount > 0 ? "good" : "bad"}">${addressCount > 0 ? `Answered with ${addressCount === 1 ? "one address" : `${addressCount} addresses`}.` : message}</p>
<dl>
${service === undefined ? "" : html`<dt>Type</dt><dd>${service.type}</dd><dt>Addresses</dt><dd>${service.addresses}</dd>`}
<dt>Ports</dt><dd>${portsOf(facts)}</dd>
<dt>View</dt><dd>${comment}</dd>
</dl>
<h2>Names to ask for</h2>
${nameList(facts, zones)}
<h2>Clusters</h2>
${sourceTable(facts)}
${service === undefined || service.properties.length === 0 ? "" : html`<h2>Who decides</h2>${propertyTable(service.properties)}`}
${
  conflicts.length === 0
    ? ""
    : html`<h2 id="conflicts">Conflicts</h2>
<p class="hint">${counted(conflicts.length, "conflict")}: the oldest export decides (KEP-1645).</p>${conflictList(conflicts)}`
}
${findings.length === 0 ? "" : html`<h2>Findings</h2>${findingList(findings)}`}
${service !== undefined && conflicts.length + findings.length === 0 ? html`<p>No conflict and no finding: the clusters agree, and everything exported is served.</p>` : ""}
${omitted.map((sentence) => html`<p class="hint">${sentence}</p>`)}`;
}

function portsOf({ listing, explanation: { service } }: ServiceFacts): string {
  const declared = service?.properties.flatMap(({ property, value }) => (property === "port" ? value : []));
  const ports = declared ?? listing?.ports.map(({ name, number }) => `${name} ${number}`) ?? [];
  return ports.length === 0 ? "none" : ports.join(", ");
}

/** A service of a request. */
interface RequestedService {
  readonly namespace: string;
  readonly name: string;
  /** A cluster id; undefined for the client's own view. */
  readonly view: string | undefined;
}

/** What is answered of a service in one view, and why. */
interface ServiceFacts extends RequestedService {
  /** Both families, in the order of the answers. */
  readonly addresses: JsonExplanation["records"];
  readonly addressCount: number;
  /** The names of endpoints: targets of SRV records, absolute. */
  readonly endpoints: readonly string[];
  /** Undefined if it is not served in the view, or not in memory. */
  readonly listing: ServiceListing | undefined;
  /** By cluster id. */
  readonly leases: JsonExplanation["leases"];
  /** Of the A query; the rest of it is the same for all types. */
  readonly explanation: JsonExplanation;
}

/** Queries A, AAAA and SRV as the client would: what it may not see is answered as what does not exist. */
async function serviceFacts(
  parts: PageParts,
  service: RequestedService,
  request: HttpRequest,
): Promise<{ readonly error: string } | ServiceFacts> {
  const { namespace, name, view } = service;
  const own = `${name}.${namespace}.svc.${parts.zones[0]!}`;
  const answers: ExplainedAnswer[] = [];
  for (const type of ["A", "AAAA", "SRV"]) {
    const answer = await explainedAnswer(parts, { search: `name=${own}&type=${type}`, view }, request);
    if ("error" in answer) return answer;
    answers.push(answer);
  }
  const [v4, v6, srv] = answers.map((answer) => answer.explanation) as [
    JsonExplanation,
    JsonExplanation,
    JsonExplanation,
  ];
  const targets = new Set(srv.records.map(({ data }) => data.split(" ")[3]!));
  targets.delete(v4.question.name);
  const leases = new Map([v4, v6, srv].flatMap((one) => one.leases.map((lease) => [lease.clusterId, lease])));
  return {
    ...service,
    addresses: [...v4.records, ...v6.records],
    addressCount: v4.recordCount + v6.recordCount,
    endpoints: [...targets],
    listing: await parts.directory.service(namespace, name, v4.view.cluster),
    leases: [...leases.values()],
    explanation: v4,
  };
}

/** The most zones, ports and endpoints whose names the page shows, of each. */
const MOST_NAMES = 20;

/** A name with the types of its records, and what it is for. */
interface NameToAsk {
  readonly name: string;
  /** The first one is looked up. */
  readonly types: readonly string[];
  readonly what: string;
}

/**
 * The names of a service, of its ports and of its endpoints, each with a button to copy it and a link to look
 * it up.
 */
function nameList(facts: ServiceFacts, zones: readonly string[]): Html {
  const { namespace, name, view, listing, endpoints, addresses } = facts;
  const own = `${name}.${namespace}.svc`;
  const families = [...new Set(addresses.map(({ type }) => type))];
  const types = families.length === 0 ? ["A"] : families;
  const ports = listing?.ports ?? [];
  const all: readonly (readonly NameToAsk[])[] = [
    zones.map((zone) => ({ name: `${own}.${zone}`, types, what: "all addresses" })),
    ports.map((port) => ({
      name: `${port.name}.${own}.${zones[0]!}`,
      types: ["SRV"],
      what: `port ${port.number}`,
    })),
    endpoints.map((target) => ({ name: target.replace(/\.$/, ""), types, what: "one endpoint" })),
  ];
  const rest = all.reduce((count, names) => count + Math.max(0, names.length - MOST_NAMES), 0);
  return html`<ul class="list names">${all
    .flatMap((names) => names.slice(0, MOST_NAMES))
    .map((one) => item(one, view))}</ul>${rest > 0 ? html`<p class="hint">${rest} more.</p>` : ""}`;
}

function item({ name, types, what }: NameToAsk, view: string | undefined): Html {
  const search = new URLSearchParams({ name, type: types[0]!, ...(view !== undefined && { view }) });
  return html`<li>${copied(name)}
<span class="soft">${types.join(", ")}: ${what}</span> <a href="/?${search.toString()}#answer" aria-label="Look up ${name}">Look up</a></li>`;
}

/** The most clusters, and the most addresses of each, that the page shows. */
const MOST_CLUSTERS = 50;
const MOST_ADDRESSES = 20;

/**
 * The clusters that export a service or that its answers depend on: their endpoints, addresses and leases.
 * Exporters come first, by precedence.
 */
function sourceTable({ explanation: { service }, addresses, leases }: ServiceFacts): Html {
  const exporters = new Map((service?.exporters ?? []).map((one) => [one.clusterId, one]));
  const leaseOf = new Map(leases.map(({ clusterId, expiresInSeconds }) => [clusterId, expiresInSeconds]));
  const clusterIds = [
    ...new Set([...exporters.keys(), ...addresses.flatMap(({ from }) => from), ...leaseOf.keys()]),
  ];
  if (clusterIds.length === 0) return html`<p>No cluster exports it.</p>`;
  // A host without merged services knows which clusters all addresses together depend on.
  const isMerged = service !== undefined;
  const rows = clusterIds.slice(0, MOST_CLUSTERS).map((clusterId) => {
    const exporter = exporters.get(clusterId);
    const own = addresses.filter(({ from }) => from.includes(clusterId)).map(({ data }) => data);
    return html`<tr><td>${clusterLink(clusterId)}</td>
${
  !isMerged
    ? ""
    : html`<td>${exporter === undefined ? "not an exporter" : exporter.stated}${exporter?.countsFrom === undefined ? "" : html`<br><span class="soft">counts from ${exporter.countsFrom}: ${exporter.because}</span>`}</td>
<td class="number">${exporter?.endpoints ?? ""}</td>
<td>${addressesOf(own)}</td>`
}
<td>${leaseText(leaseOf.get(clusterId))}</td></tr>`;
  });
  return html`<div class="sheet" tabindex="0" role="region" aria-label="Clusters"><table>
<thead><tr><th scope="col">Cluster</th>${isMerged ? html`<th scope="col">Exported since</th><th scope="col" class="number">Endpoints</th><th scope="col">Addresses in the answers</th>` : ""}<th scope="col">Lease</th></tr></thead>
<tbody>${rows}</tbody></table></div>
${isMerged ? "" : html`<p>All addresses: ${addressesOf(addresses.map(({ data }) => data))}</p>`}
${clusterIds.length > rows.length ? html`<p class="hint">${clusterIds.length - rows.length} more clusters.</p>` : ""}`;
}

function addressesOf(addresses: readonly string[]): Html {
  const more = addresses.length - MOST_ADDRESSES;
  if (addresses.length === 0) return html`<span class="soft">none</span>`;
  return html`${addresses.slice(0, MOST_ADDRESSES).map((address, index) => html`${index === 0 ? "" : ", "}<code>${address}</code>`)}${more > 0 ? html` and ${more} more` : ""}`;
}

function leaseText(expiresInSeconds: number | null | undefined): Html | string {
  if (expiresInSeconds === undefined) return html`<span class="soft">no record depends on it</span>`;
  return expiresInSeconds === null
    ? html`<span class="bad">not live</span>`
    : `${duration(expiresInSeconds * 1000)} left`;
}

/**
 * `/clusters/<cluster id>`: the state of a cluster, what it exports, and what of that is not served and why.
 */
export async function clusterPage(
  { gateway, directory, clock }: PageParts,
  clusterId: string,
  url: URL,
): Promise<Page> {
  await directory.count(gateway.status());
  const cluster = byNeed(gateway.status()).find((one) => one.clusterId === clusterId);
  if (cluster === undefined) return notFoundPage("no cluster with this id has pushed to this gateway");
  const range = pageOf(url);
  const exports = "neverSeen" in cluster ? undefined : await directory.cluster(clusterId, range);
  return {
    title: clusterId,
    at: "/clusters",
    body: html`<h1>Cluster <code>${clusterId}</code></h1>
${refreshed(html`${clusterFacts(cluster, clock())}
${exports === undefined ? "" : exportsOf(exports, clusterId, range)}`)}`,
  };
}

function exportsOf(exports: ClusterExports | Missing, clusterId: string, range: ListRange): Html {
  const heading = html`<h2>Services it exports</h2>`;
  if ("missing" in exports) return html`${heading}<p>${exports.missing}</p>`;
  const { exports: part, refusals, findings, findingCount } = exports;
  const more = findingCount - refusals.length - findings.length;
  return html`${refusals.length === 0 ? "" : html`<h2>Exported, but not served</h2>${findingList(refusals)}`}
${heading}
${partOf(part, "It exports no service.", (entries) => exportList(entries, clusterId))}
${pager(part, range, `/clusters/${encodeURIComponent(clusterId)}?`)}
<h2>Other findings</h2>
${findings.length === 0 ? html`<p>No other finding.</p>` : findingList(findings)}
${more > 0 ? html`<p><a href="/conflicts">${counted(more, "finding")} more</a></p>` : ""}`;
}

function exportList(exports: readonly ClusterExport[], clusterId: string): Html {
  return html`<ul class="list">${exports.map(
    ({ namespace, name, type, isServed, decidedBy }) => html`<li><p>${serviceLink(namespace, name)}
<span class="soft">${type ?? ""}</span> ${
      isServed ? "" : html`<span class="bad">not served</span>`
    }${isServed && decidedBy !== undefined && decidedBy !== clusterId ? html`<span class="soft">· properties decided by</span> ${clusterLink(decidedBy)}` : ""}</p></li>`,
  )}</ul>`;
}
