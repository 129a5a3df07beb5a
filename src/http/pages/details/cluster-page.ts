import { html } from "hono/html";
import type { ClusterExport, ClusterExports, Missing } from "../directory.ts";
import { clusterLink, serviceLink } from "../links.ts";
import { type ListPageParts, pageOf, pager } from "../list-pages.ts";
import { clusterFacts, findingList, partOf, unseenFacts } from "../lists.ts";
import { notFoundPage } from "../not-found-page.ts";
import type { Html, Page } from "../page.ts";
import { refreshed, WITH_SCRIPT } from "../script.ts";
import { counted } from "../words.ts";

/** `/clusters/<cluster id>`: the state of a cluster, what it exports, and what of that is not served and why. */
export async function clusterPage(
  { gateway, directory, clock }: ListPageParts,
  clusterId: string,
  url: URL,
): Promise<Page> {
  const { clusters, neverSeen = [] } = gateway.status();
  const cluster = clusters.find((one) => one.clusterId === clusterId);
  if (neverSeen.includes(clusterId))
    return {
      ...{ title: clusterId, at: "/clusters", ...WITH_SCRIPT },
      body: html`<h1>Cluster <code>${clusterId}</code></h1>
${refreshed(unseenFacts(clusterId))}`,
    };
  if (cluster === undefined) return notFoundPage("no cluster with this id has pushed to this gateway");
  const range = pageOf(url);
  const exports = await directory.cluster(clusterId, range);
  const part = "missing" in exports ? exports : exports.exports;
  return {
    ...{ title: clusterId, at: "/clusters", ...WITH_SCRIPT },
    body: html`<h1>Cluster <code>${clusterId}</code></h1>
${refreshed(html`${clusterFacts(cluster, clock())}
${refusals(exports)}
<h2>Services it exports</h2>
${partOf(part, "It exports no service.", (entries) => exportList(entries, clusterId))}
${pager(part, range, `/clusters/${encodeURIComponent(clusterId)}?`)}
${findings(exports)}`)}`,
  };
}

function refusals(exports: ClusterExports | Missing): Html | string {
  if ("missing" in exports || exports.refusals.length === 0) return "";
  return html`<h2>Exported, but not served</h2>
${findingList(exports.refusals)}`;
}

function findings(exports: ClusterExports | Missing): Html | string {
  if ("missing" in exports) return "";
  const more = exports.findingCount - exports.refusals.length - exports.findings.length;
  return html`<h2>Other findings</h2>
${exports.findings.length === 0 ? html`<p>No other finding.</p>` : findingList(exports.findings)}
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
