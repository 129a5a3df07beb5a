import { html } from "hono/html";
import type { ExplainedProperty } from "../../../explain/explanation.ts";
import type { JsonExplanation } from "../../explain.ts";
import type { Html } from "../page.ts";
import { clusterLink, duration, serviceLink } from "../page.ts";

/** The most records, properties and objections that the page shows of each. */
const MOST = 30;

/** Why an answer is what it is. @param path `/clusters/<cluster id>` for a cluster's view, else empty */
export function explanationView(explanation: JsonExplanation, path: string, search: string): Html {
  const { code, message, records, recordCount, leases, service, conflicts, findings, suggestions, omitted } =
    explanation;
  return html`${code === "ANSWERED" ? "" : html`<p>${message}</p>`}
${suggestions.length === 0 ? "" : html`<p>Did you mean:</p><ul>${suggestions.map(({ name, because }) => html`<li><a href="/?${searchFor(name, explanation)}#answer">${name}</a>: ${because}</li>`)}</ul>`}
${
  service === undefined
    ? ""
    : html`<p>The service ${serviceLink(service.namespace, service.name)} is ${service.type}. Its addresses in this view: ${service.addresses}.</p>`
}
<div class="facts">
${list(
  "Exported by",
  (service?.exporters ?? []).map(
    ({ clusterId, stated, countsFrom, because }) =>
      html`${clusterLink(clusterId)}, since <time>${stated}</time>${countsFrom === undefined ? "" : html`; counts from ${countsFrom}: ${because}`}`,
  ),
)}
${list(
  "Where the records come from",
  records.map(
    ({ type, data, from }) =>
      html`<code>${data}</code> ${type}: ${from.length === 0 ? "the gateway" : from.join(", ")}`,
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

function searchFor(name: string, { question: { type }, view: { cluster } }: JsonExplanation): string {
  return new URLSearchParams({ name, type, ...(cluster !== undefined && { view: cluster }) }).toString();
}

function list(title: string, entries: readonly Html[], total = entries.length): Html | string {
  if (entries.length === 0) return "";
  const rest = total - Math.min(entries.length, MOST);
  return html`<div><h3>${title}</h3>
<ul>${entries.slice(0, MOST).map((entry) => html`<li>${entry}</li>`)}${rest > 0 ? html`<li>${rest} more</li>` : ""}</ul></div>`;
}
