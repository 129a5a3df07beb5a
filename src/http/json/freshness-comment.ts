import type { View } from "../../access/view/view.ts";
import type { Answered } from "../../answer/answer-query.ts";
import type { AnswerOrigin } from "../../forward/outside-answer.ts";
import type { ClusterStatus, ServingStatus } from "../../gateway/gateway-types.ts";
import { describeDegradation } from "../../snapshot/report/degradation.ts";
import { counted, duration } from "../pages/page.ts";

/** The most clusters that the comment names; others are summarized. */
const NAMED_CLUSTERS = 5;

/** Describes the view of an answer, its source and its age. */
export function describeAnswered(answered: Answered, status: () => ServingStatus, now: number): string {
  const { origin, isForwarded } = answered;
  if (isForwarded) return origin === undefined ? describeForwarded(answered.view) : describeOrigin(origin);
  const ours = describeFreshness(status(), answered.view, now);
  return origin === undefined ? ours : `${ours}; its CNAME target: ${describeOrigin(origin)}`;
}

/**
 * Describes the view of an answer and the age of its data:
 * `seen from outside; 1 of 2 clusters live; cluster-a last seen 3 s ago; cluster-b silent for 95 s, withdrawn`. For a stale answer
 * that comes first.
 */
function describeFreshness(status: ServingStatus, view: View, now: number): string {
  const clusters = status.clusters.toSorted((one, other) => one.renewedAt - other.renewedAt);
  const live = clusters.filter((cluster) => cluster.live).length;
  const parts = [
    ...describeStale(status, now),
    describeView(view),
    `${live} of ${counted(clusters.length, "cluster")} live`,
  ];
  for (const cluster of clusters.slice(0, NAMED_CLUSTERS)) {
    const age = Math.max(0, Math.round((now - cluster.renewedAt) / 1000));
    parts.push(`${cluster.clusterId} ${describeCluster(cluster, age, now)}`);
  }
  if (clusters.length > NAMED_CLUSTERS) parts.push("the others more recently");
  return parts.join("; ");
}

function describeCluster(
  { live, expiresAt, degraded = [] }: ClusterStatus,
  age: number,
  now: number,
): string {
  // Without what it concerns: a client need not know the names of files.
  const reasons = degraded.map(({ reason, since }) =>
    describeDegraded({ degraded: [{ reason, since }] }, now),
  );
  if (live) return [`last seen ${age} s ago`, ...reasons].join(", ");
  return expiresAt > now ? `pushed ${age} s ago, not in the answers yet` : `silent for ${age} s, withdrawn`;
}

/** What keeps a worker from reading all of its cluster, in words: `API server unreachable for 4 min`; empty if nothing does. */
export function describeDegraded({ degraded = [] }: Pick<ClusterStatus, "degraded">, now: number): string[] {
  return degraded.map((one) => `${describeDegradation(one)} for ${duration(now - one.since)}`);
}

/** `stale: the primary last answered 12 s ago`, `stale: a change waits for 12 s`; empty where answers are not stale. */
export function describeStale({ staleSince, behindSince }: ServingStatus, now: number): string[] {
  const seconds = (since: number) => Math.max(0, Math.round((now - since) / 1000));
  return [
    ...(staleSince === undefined ? [] : [`stale: the primary last answered ${seconds(staleSince)} s ago`]),
    ...(behindSince === undefined ? [] : [`stale: a change waits for ${seconds(behindSince)} s`]),
  ];
}

/** The same for an answer from a stub zone, whose age only the name server knows. */
function describeForwarded(view: View): string {
  const said = "answered by a name server of the federation";
  return view.cluster === undefined ? said : `${describeView(view)}; ${said}`;
}

function describeView({ cluster = "outside", locality, isByLocation }: View): string {
  const near =
    locality === undefined ? "" : `, near ${[locality.zone, locality.region].filter(Boolean).join(" in ")}`;
  return `seen from ${cluster}${near}${isByLocation === true ? " (by location)" : ""}`;
}

/** The same for a name out of zone: `forwarded to dns.example.net; cached 12 s ago`, `forwarded, but no upstream answered`. */
function describeOrigin({ upstream, ageSeconds, isStale }: AnswerOrigin): string {
  if (upstream === undefined) return "forwarded, but no upstream answered";
  const cached = ageSeconds > 0 || isStale ? `; cached ${ageSeconds} s ago` : "";
  const stale = isStale ? "; stale: no newer answer was available" : "";
  return `forwarded to ${upstream}${cached}${stale}`;
}
