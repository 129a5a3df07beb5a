import type { ServingStatus } from "../../gateway/gateway-types.ts";
import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import type { Objections } from "../../names/services.ts";
import { describeDegraded, describeStale } from "../json.ts";
import { wholeSeconds } from "../pages/page.ts";

/** The source of the status: a gateway that compiles, or a secondary. */
export interface StatusSource {
  status(): ServingStatus;
  /** Conflicts and findings, as of now; undefined where that takes too long. Absent for a secondary, which does not know them. */
  survey?(): Promise<Objections | undefined>;
  /** How often damaged rows took a cluster out of the answers; absent for a gateway without a database. */
  readonly damage?: { readonly count: number } | undefined;
}

/** The most entries of a list. */
const MOST_LISTED = 100;

/** A list, or its beginning. */
interface StatusList<Entry> {
  readonly total: number;
  /** At most 100. */
  readonly entries: readonly Entry[];
}

/** A gateway as its clients may see it, in JSON: what `/status` returns. */
export interface StatusReport {
  /** Whether queries get answers. */
  readonly ready: boolean;
  /** The newest entry of the shared log that is in the answers; absent where no log is shared. */
  readonly position?: number | undefined;
  /** The hash of what is served: gateways at one position of a log have the same. */
  readonly stateHash?: string | undefined;
  /** Why answers say that they are stale; empty if they do not. */
  readonly stale: readonly string[];
  readonly services: number;
  readonly clusters: readonly {
    readonly clusterId: string;
    readonly live: boolean;
    /** Seconds since its worker was last seen. */
    readonly lastSeenSeconds: number;
    /** Seconds until its lease expires; 0 if it has. */
    readonly expiresInSeconds: number;
    readonly exports: number;
    readonly imports: number;
    /** What keeps its worker from reading all of the cluster: `API server unreachable for 4 min`. Empty if nothing does. */
    readonly degraded: readonly string[];
  }[];
  /** Clusters that may push, and never did since the gateway started. */
  readonly neverSeen: readonly string[];
  /** Null on hosts that do not know them. */
  readonly conflicts: StatusList<Conflict> | null;
  readonly findings: StatusList<ClusterFinding> | null;
}

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

function listOf<Entry>(entries: readonly Entry[] | undefined): StatusList<Entry> | null {
  return entries === undefined ? null : { total: entries.length, entries: entries.slice(0, MOST_LISTED) };
}
