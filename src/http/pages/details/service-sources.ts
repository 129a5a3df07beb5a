import { html } from "hono/html";
import { clusterLink } from "../links.ts";
import type { Html } from "../page.ts";
import { duration } from "../words.ts";
import type { ServiceFacts } from "./service-facts.ts";

/** The most clusters, and the most addresses of each, that the page shows. */
const MOST_CLUSTERS = 50;
const MOST_ADDRESSES = 20;

/** The clusters that export a service or that its answers depend on: their endpoints, addresses and leases. Exporters come first, by precedence. */
export function sourceTable({ explanation: { service }, addresses, leases }: ServiceFacts): Html {
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
