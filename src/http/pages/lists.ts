import { html } from "hono/html";
import type { ClusterStatus, ServingStatus } from "../../gateway/gateway-types.ts";
import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import type { ServiceListing } from "../../names/services.ts";
import { describeDegraded } from "../json/freshness-comment.ts";
import { type ListPart, type Missing, SERVICE_KINDS } from "./directory.ts";
import { clusterLink, serviceLink } from "./links.ts";
import type { Html } from "./page.ts";
import { counted, duration } from "./words.ts";

/** A cluster that may push, and never did. */
export interface UnseenCluster {
  readonly clusterId: string;
  readonly neverSeen: true;
}

/** Clusters with their age; those with problems come first. */
export function clusterList(clusters: readonly (ClusterStatus | UnseenCluster)[], now: number): Html {
  return html`<ul class="list">${clusters.map((cluster) =>
    "neverSeen" in cluster
      ? html`<li><p class="entry">${clusterLink(cluster.clusterId)} ${NEVER_SEEN}</p>
<p>It may push, and never did since the gateway started.</p></li>`
      : html`<li><p class="entry">${clusterLink(cluster.clusterId)} ${describeState(cluster, now)}</p>
<p>Snapshot ${duration(now - cluster.pushedAt)} old. Last seen ${duration(now - cluster.renewedAt)} ago. ${
          cluster.expiresAt > now
            ? `Lease: ${duration(cluster.expiresAt - now)} left.`
            : `Lease: expired ${duration(now - cluster.expiresAt)} ago.`
        } ${counted(cluster.exports, "export")}, ${counted(cluster.imports, "import")}.</p></li>`,
  )}</ul>`;
}

/** What is known of one cluster. */
export function clusterFacts(cluster: ClusterStatus, now: number): Html {
  const { pushedAt, renewedAt, expiresAt, exports, imports } = cluster;
  return html`<p class="verdict">${describeState(cluster, now)}</p>
<dl>
<dt>Last seen</dt><dd>${duration(now - renewedAt)} ago</dd>
<dt>Lease</dt><dd>${expiresAt > now ? `${duration(expiresAt - now)} left, unless the worker renews it` : `expired ${duration(now - expiresAt)} ago`}</dd>
<dt>Snapshot</dt><dd>${duration(now - pushedAt)} old</dd>
<dt>Reports</dt><dd>${counted(exports, "export")}, ${counted(imports, "import")}</dd>
</dl>`;
}

function describeState({ live, expiresAt, degraded }: ClusterStatus, now: number): Html {
  if (live && degraded !== undefined)
    return html`<span class="good">live</span>, <span class="bad">${describeDegraded({ degraded }, now).join(", ")}</span>`;
  if (live) return html`<span class="good">live</span>`;
  if (expiresAt > now) return html`<span>pushed, not in the answers yet</span>`;
  return html`<span class="bad">expired, its names are withdrawn</span>`;
}

/** What is known of a cluster that may push, and never did. */
export function unseenFacts(clusterId: string): Html {
  return html`<p class="verdict">${NEVER_SEEN}</p>
<p>It may push, and never did since the gateway started: its names are not answered. Start its worker with <code>clusterset-doh sync --cluster-id ${clusterId}</code>, or look at the worker’s log.</p>`;
}

const NEVER_SEEN = html`<span class="bad">never seen</span>`;

/** Clusters that were never seen come first, then those with an expired lease, then those with a degraded worker, then those that were last seen longest ago. */
export function byNeed({
  clusters,
  neverSeen = [],
}: ServingStatus): readonly (ClusterStatus | UnseenCluster)[] {
  const seen = clusters.toSorted(
    (one, other) =>
      Number(one.live) - Number(other.live) ||
      Number(one.degraded === undefined) - Number(other.degraded === undefined) ||
      one.renewedAt - other.renewedAt,
  );
  return [...neverSeen.map((clusterId) => ({ clusterId, neverSeen: true }) as const), ...seen];
}

/** One or two sentences: whether the gateway answers queries, and from which data. */
export function servingSentence(
  { ready, clusters, neverSeen = [], staleSince, behindSince, transferError }: ServingStatus,
  now: number,
): Html {
  const live = clusters.filter((cluster) => cluster.live).length;
  return html`<p>${
    ready
      ? html`<span class="good">Answering</span> from ${live} of ${counted(clusters.length + neverSeen.length, "cluster")}.`
      : clusters.length === 0
        ? html`<span class="bad">Not answering yet:</span> no cluster has pushed. Start a worker for each cluster with <code>clusterset-doh sync</code>.`
        : html`<span class="bad">Not answering:</span> every lease has expired. Look at the logs of the workers.`
  }</p>
${staleSince === undefined ? "" : html`<p class="note">Stale: the primary last answered ${duration(now - staleSince)} ago.</p>`}
${behindSince === undefined ? "" : html`<p class="note">Stale: a change waits for ${duration(now - behindSince)}.</p>`}
${transferError === undefined ? "" : html`<p class="note">The gateway cannot serve the newest state, and serves an older one: ${transferError}</p>`}`;
}

/** Services with their names in a zone; each links to its page. */
export function serviceList(services: readonly ServiceListing[], zone: string): Html {
  return html`<ul class="list">${services.map((service) => {
    const name = `${service.name}.${service.namespace}.svc.${zone}`;
    const more = service.addressCount - service.addresses.length;
    const addresses =
      service.addressCount === 0
        ? "no address"
        : `${service.addresses.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
    const ports = service.ports.map(
      (port) => `${port.name.replace(/^_(.*)\._(.*)$/, "$1 ($2)")} ${port.number}`,
    );
    return html`<li><p>${serviceLink(service.namespace, service.name, name)}</p>
<p class="soft">${[addresses, ...ports].join(" · ")}${service.clusters.length > 0 ? ` · from ${service.clusters.join(", ")}` : ""}</p></li>`;
  })}</ul>`;
}

/** Properties on which clusters disagree, in KEP-1645's words, and the consequences. */
export function conflictList(conflicts: readonly Conflict[]): Html {
  return html`<ul class="list">${conflicts.map(
    ({ namespace, name, message, disagree }) => html`<li><p class="entry">${serviceLink(namespace, name)}</p>
<p>${message}${disagree.length > 0 ? ` Set aside: ${some(disagree)}.` : ""}</p></li>`,
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

const MOST_NAMED = 10;

function some(names: readonly string[]): string {
  const rest = names.length - MOST_NAMED;
  return `${names.slice(0, MOST_NAMED).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
