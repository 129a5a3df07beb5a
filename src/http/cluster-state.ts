import { html } from "hono/html";
import type { Written } from "../explain/schema.ts";
import type { ClusterStatus, ServingStatus } from "../gateway/gateway-types.ts";
import type { Objections } from "../names/services.ts";
import { describeDegradation } from "../snapshot/report.ts";
import type { StatusReport as StatusSchema } from "./openapi/schemas.ts";
import { counted, duration, type Html, natural, someOf, wholeSeconds } from "./pages/page.ts";

// The states of clusters as pages, JSON and lines of text show them. Times are Unix milliseconds.

/** A cluster that may push, and never did. */
interface UnseenCluster {
  readonly clusterId: string;
  readonly neverSeen: true;
}

/** A cluster as lists show it. */
export type ListedCluster = ClusterStatus | UnseenCluster;

/**
 * Clusters that were never seen come first, then those with an expired lease, then those with a degraded
 * worker, then those that were last seen longest ago.
 */
export function byNeed({ clusters, neverSeen = [] }: ServingStatus): readonly ListedCluster[] {
  const seen = clusters.toSorted(
    (one, other) =>
      Number(one.live) - Number(other.live) ||
      Number(one.degraded === undefined) - Number(other.degraded === undefined) ||
      one.renewedAt - other.renewedAt ||
      natural(one.clusterId, other.clusterId),
  );
  return [
    ...neverSeen.toSorted(natural).map((clusterId) => ({ clusterId, neverSeen: true }) as const),
    ...seen,
  ];
}

/** The most clusters that a line names. */
const MOST_NAMED = 5;

/** The states of a cluster, with their colours and words. */
const STATES = {
  live: { colour: "good", words: "live" },
  /** Its worker cannot read all of it. */
  degraded: { colour: "bad", words: "live" },
  /** Its first push is not in the answers yet. */
  pushed: { colour: "", words: "pushed, not in the answers yet" },
  expired: { colour: "bad", words: "expired, its names are withdrawn" },
};

function stateOf({ live, expiresAt, degraded }: ClusterStatus, now: number): keyof typeof STATES {
  if (live) return degraded === undefined ? "live" : "degraded";
  return expiresAt > now ? "pushed" : "expired";
}

/** A cluster's lease by colour, and in words. */
export function leaseBadge(cluster: ListedCluster, now: number): Html {
  if ("neverSeen" in cluster) return html`<span class="badge">never seen</span>`;
  const state = stateOf(cluster, now);
  const left = cluster.live ? `, ${duration(cluster.expiresAt - now)}` : "";
  return html`<span class="badge ${STATES[state].colour}">${state}${left}</span>`;
}

/** What is known of one cluster. */
export function clusterFacts(cluster: ListedCluster, now: number): Html {
  if ("neverSeen" in cluster)
    return html`<p class="verdict"><span class="bad">never seen</span></p>
<p>It may push, and never did since the gateway started: its names are not answered. Start its worker with <code>clusterset-doh sync --cluster-id ${cluster.clusterId}</code>, or look at the worker’s log.</p>`;
  const { pushedAt, renewedAt, expiresAt, exports, imports } = cluster;
  return html`<p class="verdict">${stateWords(cluster, now)}</p>
<dl>
<dt>Last seen</dt><dd>${duration(now - renewedAt)} ago</dd>
<dt>Lease</dt><dd>${expiresAt > now ? `${duration(expiresAt - now)} left, unless the worker renews it` : `expired ${duration(now - expiresAt)} ago`}</dd>
<dt>Snapshot</dt><dd>${duration(now - pushedAt)} old</dd>
${
  exports === undefined || imports === undefined
    ? ""
    : html`<dt>Reports</dt><dd>${counted(exports, "export")}, ${counted(imports, "import")}</dd>`
}
</dl>`;
}

function stateWords(cluster: ClusterStatus, now: number): Html {
  const state = stateOf(cluster, now);
  if (state === "degraded")
    return html`<span class="good">live</span>, <span class="bad">${describeDegraded(cluster, now).join(", ")}</span>`;
  const { colour, words } = STATES[state];
  return html`<span class="${colour}">${words}</span>`;
}

/** One or two sentences: whether the gateway answers queries, and from which data. */
export function servingSentence(status: ServingStatus, now: number): Html {
  const { ready, clusters, neverSeen = [], staleSince, behindSince, transferError } = status;
  return html`<p>${
    ready
      ? html`<span class="good">Answering</span> from ${liveOf(status)} of ${counted(clusters.length + neverSeen.length, "cluster")}.`
      : clusters.length === 0
        ? html`<span class="bad">Not answering yet:</span> no cluster has pushed. Start a worker for each cluster with <code>clusterset-doh sync</code>.`
        : html`<span class="bad">Not answering:</span> every lease has expired. Look at the logs of the workers.`
  }</p>
${staleSince === undefined ? "" : html`<p class="note">Stale: the primary last answered ${duration(now - staleSince)} ago.</p>`}
${behindSince === undefined ? "" : html`<p class="note">Stale: a change waits for ${duration(now - behindSince)}.</p>`}
${transferError === undefined ? "" : html`<p class="note">The gateway cannot serve the newest state, and serves an older one: ${transferError}</p>`}`;
}

/** The most entries of a list. */
export const MOST_LISTED = 100;

/** A gateway as its clients may see it, in JSON: what `/status` returns. */
export type StatusReport = Written<typeof StatusSchema>;

/**
 * @param objections undefined where they are not known
 * @param now Unix milliseconds by the gateway's clock
 */
export function statusReport(
  status: ServingStatus,
  objections: Objections | undefined,
  now: number,
): StatusReport {
  return {
    ready: status.ready,
    position: status.position,
    stateHash: status.position === undefined ? undefined : status.stateHash,
    stale: describeStale(status, now),
    services: status.services ?? null,
    clusters: status.clusters.map((cluster) => reportCluster(cluster, now)),
    neverSeen: status.neverSeen ?? [],
    conflicts: listOf(objections?.conflicts),
    findings: listOf(objections?.findings),
  };
}

function listOf<Entry>(entries: readonly Entry[] | undefined) {
  return entries === undefined ? null : { total: entries.length, entries: entries.slice(0, MOST_LISTED) };
}

/** A cluster in the JSON of `/status`. */
function reportCluster(cluster: ClusterStatus, now: number): StatusReport["clusters"][number] {
  const { clusterId, live, renewedAt, expiresAt, exports, imports } = cluster;
  return {
    clusterId,
    live,
    exports: exports ?? null,
    imports: imports ?? null,
    lastSeenSeconds: wholeSeconds(now - renewedAt),
    expiresInSeconds: live ? wholeSeconds(expiresAt - now) : 0,
    degraded: describeDegraded(cluster, now),
  };
}

/** The line of `/readyz` for clients who see everything: `ready: 1 of 2 clusters live; c never seen`. */
export function describeReadiness(status: ServingStatus, now: number): string {
  const { clusters, neverSeen = [], storeTrouble, transferError } = status;
  const live = `${liveOf(status)} of ${clusters.length + neverSeen.length} clusters live`;
  const said = status.ready
    ? [
        `ready: ${live}`,
        ...describeStale(status, now),
        ...(transferError === undefined ? [] : [`the last transfer failed: ${transferError}`]),
      ]
    : [`not ready: ${whyNotReady(status, live)}`];
  const unseen = neverSeen.length === 0 ? [] : [`${someOf(neverSeen, MOST_NAMED)} never seen`];
  return [...said, ...(storeTrouble === undefined ? [] : [storeTrouble.reason]), ...unseen].join("; ");
}

function whyNotReady({ clusters, transferError }: ServingStatus, live: string): string {
  if (transferError !== undefined) return `nothing could be taken over from the primary: ${transferError}`;
  return clusters.length === 0 ? "no cluster has pushed a snapshot yet" : `${live}: every lease has expired`;
}

/**
 * How old the data of an answer are: `1 of 2 clusters live`, `cluster-a last seen 3 s ago`, `cluster-b silent
 * for 95 s, withdrawn`.
 */
export function describeAges(status: ServingStatus, now: number): string[] {
  const clusters = status.clusters.toSorted((one, other) => one.renewedAt - other.renewedAt);
  return [
    `${liveOf(status)} of ${counted(clusters.length, "cluster")} live`,
    ...clusters.slice(0, MOST_NAMED).map((cluster) => `${cluster.clusterId} ${describeAge(cluster, now)}`),
    ...(clusters.length > MOST_NAMED ? ["the others more recently"] : []),
  ];
}

function describeAge(cluster: ClusterStatus, now: number): string {
  const age = wholeSeconds(now - cluster.renewedAt);
  // Without what it concerns: a client need not know the names of files.
  const degraded = cluster.degraded?.map(({ reason, since }) => ({ reason, since }));
  if (cluster.live) return [`last seen ${age} s ago`, ...describeDegraded({ degraded }, now)].join(", ");
  return stateOf(cluster, now) === "pushed"
    ? `pushed ${age} s ago, not in the answers yet`
    : `silent for ${age} s, withdrawn`;
}

function liveOf({ clusters }: ServingStatus): number {
  return clusters.filter(({ live }) => live).length;
}

/**
 * What keeps a worker from reading all of its cluster, in words: `API server unreachable for 4 min`; empty if
 * nothing does.
 */
function describeDegraded({ degraded = [] }: Pick<ClusterStatus, "degraded">, now: number): string[] {
  return degraded.map((one) => `${describeDegradation(one)} for ${duration(now - one.since)}`);
}

/**
 * `stale: the primary last answered 12 s ago`, `stale: a change waits for 12 s`; empty where answers are not
 * stale.
 */
export function describeStale({ staleSince, behindSince }: ServingStatus, now: number): string[] {
  return [
    ...(staleSince === undefined
      ? []
      : [`stale: the primary last answered ${wholeSeconds(now - staleSince)} s ago`]),
    ...(behindSince === undefined ? [] : [`stale: a change waits for ${wholeSeconds(now - behindSince)} s`]),
  ];
}
