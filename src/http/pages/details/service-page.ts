import { html } from "hono/html";
import type { HttpRequest } from "../../messages/http-message.ts";
import { conflictList, findingList } from "../lists.ts";
import { propertyTable } from "../look-up/explanation-view.ts";
import { notFoundPage } from "../not-found-page.ts";
import type { Html, Page } from "../page.ts";
import type { PageParts } from "../page-parts.ts";
import { refreshed, WITH_SCRIPT } from "../script.ts";
import { counted } from "../words.ts";
import { type AskedService, type ServiceFacts, serviceFacts } from "./service-facts.ts";
import { nameList } from "./service-names.ts";
import { sourceTable } from "./service-sources.ts";

/** A label of a Kubernetes object's name (RFC 1123 section 2.1). */
const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** The verdicts after which there is no service to show. */
const NOTHING_THERE: ReadonlySet<string> = new Set([
  "NO_NAMESPACE",
  "NOT_EXPORTED",
  "NO_SUCH_NAME",
  "OUT_OF_ZONE",
]);

/** With more clusters the form has a text field instead of a list. */
const MOST_CHOICES = 50;

/** `/services/<namespace>/<name>?view=<cluster id>`: what is answered for a service, from which clusters, and why. */
export async function servicePage(
  parts: PageParts,
  asked: AskedService,
  request: HttpRequest,
): Promise<Page> {
  if (!LABEL.test(asked.namespace) || !LABEL.test(asked.name))
    return notFoundPage("the address does not name a service: /services/<namespace>/<name>");
  const facts = await serviceFacts(parts, asked, request);
  if ("error" in facts) return notFoundPage(facts.error);
  const page = { title: `${asked.name} in ${asked.namespace}`, at: "/services" };
  const heading = html`<h1><code>${asked.name}</code> in <code>${asked.namespace}</code></h1>`;
  const { service, code } = facts.explanation;
  if (service === undefined && facts.listing === undefined && NOTHING_THERE.has(code))
    return { ...page, status: 404, body: html`${heading}${absent(facts)}` };
  const views = parts.gateway
    .status()
    .clusters.flatMap(({ clusterId }) => (parts.gateway.hasCluster(clusterId) ? clusterId : []));
  return {
    ...page,
    ...WITH_SCRIPT,
    body: html`${heading}${viewForm(asked, views)}${refreshed(present(facts, parts))}`,
  };
}

function absent({ explanation: { message, suggestions } }: ServiceFacts): Html {
  return html`<p class="verdict bad">${message}</p>
${
  suggestions.length === 0
    ? ""
    : html`<p>Did you mean:</p>
<ul>${suggestions.map(({ name, because }) => html`<li><a href="/?name=${encodeURIComponent(name)}#answer"><code>${name}</code></a>: ${because}</li>`)}</ul>`
}
<p><a href="/services">All services</a></p>`;
}

function viewForm({ namespace, name, view = "" }: AskedService, clusters: readonly string[]): Html {
  const views = view === "" || clusters.includes(view) ? clusters : [...clusters, view];
  return html`<form action="/services/${namespace}/${name}" method="get" aria-label="Choose a view">
<div><label for="view">Seen from</label>
${
  views.length > MOST_CHOICES
    ? html`<input id="view" name="view" value="${view}" placeholder="outside, or a cluster id" autocapitalize="none" spellcheck="false">`
    : html`<select id="view" name="view"><option value="">outside the clusters</option>${views.map((one) => html`<option${one === view ? html` selected` : ""}>${one}</option>`)}</select>`
}</div>
<button>Show</button>
</form>`;
}

function present(facts: ServiceFacts, { zones }: PageParts): Html {
  const { explanation, addressCount, comment } = facts;
  const { service, conflicts, findings, omitted, message } = explanation;
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
    : html`<h2>Conflicts</h2>
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
