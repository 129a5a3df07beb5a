import type { ServingStatus } from "../../gateway/gateway-types.ts";
import type { Objections } from "../../names/services.ts";
import { describeDegraded, describeStale } from "../json.ts";
import type { StatusReport as StatusSchema, Written } from "../openapi/schemas.ts";
import { wholeSeconds } from "../pages/page.ts";

/** The source of the status: a gateway that compiles, or a secondary. */
export interface StatusSource {
  status(): ServingStatus;
  /** Conflicts and findings, as of now; undefined where that takes too long. Absent for a secondary, which does not know them. */
  survey?(): Promise<Objections | undefined>;
}

/** The most entries of a list. */
const MOST_LISTED = 100;

/** A gateway as its clients may see it, in JSON: what `/status` returns. */
export type StatusReport = Written<typeof StatusSchema>;

/** @param objections undefined where they are not known @param now Unix milliseconds by the gateway's clock */
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
    services: status.services,
    clusters: status.clusters.map(
      ({ clusterId, live, renewedAt, expiresAt, exports, imports, degraded }) => ({
        clusterId,
        live,
        exports,
        imports,
        lastSeenSeconds: wholeSeconds(now - renewedAt),
        expiresInSeconds: live ? wholeSeconds(expiresAt - now) : 0,
        degraded: describeDegraded({ degraded }, now),
      }),
    ),
    neverSeen: status.neverSeen ?? [],
    conflicts: listOf(objections?.conflicts),
    findings: listOf(objections?.findings),
  };
}

function listOf<Entry>(entries: readonly Entry[] | undefined) {
  return entries === undefined ? null : { total: entries.length, entries: entries.slice(0, MOST_LISTED) };
}
