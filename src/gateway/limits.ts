import type { SnapshotPatch } from "../snapshot/patch.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import type { HeldCluster } from "./held-cluster.ts";

/** Bounds on what clusters may ask of a gateway. */
export interface GatewayLimits {
  readonly leastLeaseSeconds: number;
  readonly mostLeaseSeconds: number;
  /** The lease of a push that asks for none. */
  readonly leaseSeconds: number;
  readonly mostClusters: number;
  /** Bound on one cluster's snapshot as JSON, in characters: deltas must not grow it without end. */
  readonly mostSnapshotCharacters: number;
  /** After how many seconds answers say that they are stale where a push that arrived is not in them. */
  readonly pushDelaySeconds: number;
  /** Bound on one cluster's namespaces: an image has room for 65,535, which one cluster must not fill. */
  readonly mostNamespaces: number;
}

/** What holds where nothing else is configured. */
export const DEFAULT_GATEWAY_LIMITS: GatewayLimits = {
  leastLeaseSeconds: 5,
  mostLeaseSeconds: 3600,
  leaseSeconds: 60,
  mostClusters: 1000,
  mostSnapshotCharacters: 64 * 1024 * 1024,
  pushDelaySeconds: 5,
  // The most that Kubernetes supports (Considerations for large clusters, scalability thresholds).
  mostNamespaces: 10_000,
};

/** @throws {PushRefused} TOO_MANY_NAMESPACES */
export function checkNamespaces({ mostNamespaces }: GatewayLimits, { namespaces }: ClusterSnapshot): void {
  const count = Object.keys(namespaces).length;
  if (count > mostNamespaces)
    throw new PushRefused(
      "TOO_MANY_NAMESPACES",
      `the snapshot has ${count} namespaces; the most is ${mostNamespaces}`,
    );
}

/**
 * The length of a lease in milliseconds; the default where none is asked for.
 * @throws {PushRefused} LEASE_OUT_OF_RANGE
 */
export function leaseMilliseconds(limits: GatewayLimits, leaseSeconds = limits.leaseSeconds): number {
  const { leastLeaseSeconds, mostLeaseSeconds } = limits;
  if (leaseSeconds >= leastLeaseSeconds && leaseSeconds <= mostLeaseSeconds)
    return Math.round(leaseSeconds * 1000);
  throw new PushRefused(
    "LEASE_OUT_OF_RANGE",
    `a lease has ${leastLeaseSeconds} to ${mostLeaseSeconds} seconds, not ${leaseSeconds}`,
  );
}

/**
 * An upper bound on the length of `snapshot`, which `patch` on `held` leads to, as JSON. Counts what is
 * added, and measures the whole only when that sum passes the limit.
 * @throws {PushRefused} SNAPSHOT_TOO_LARGE
 */
export function charactersAfter(
  { mostSnapshotCharacters }: GatewayLimits,
  held: HeldCluster,
  patch: SnapshotPatch,
  snapshot: ClusterSnapshot,
): number {
  held.charactersAtMost ??= JSON.stringify(held.snapshot).length;
  const bound = held.charactersAtMost + JSON.stringify(patch).length;
  const characters = bound <= mostSnapshotCharacters ? bound : JSON.stringify(snapshot).length;
  if (characters <= mostSnapshotCharacters) return characters;
  throw new PushRefused(
    "SNAPSHOT_TOO_LARGE",
    `with this delta the snapshot would have ${characters} characters; the most is ${mostSnapshotCharacters}`,
  );
}

/** Why a push is not taken although it is well formed. */
export type PushRefusal =
  | "CLUSTER_ID_MISMATCH"
  | "LEASE_OUT_OF_RANGE"
  | "TOO_MANY_CLUSTERS"
  | "TOO_MANY_NAMESPACES"
  | "SNAPSHOT_TOO_LARGE";

/** A push that is beyond the gateway's bounds, or not meant for the cluster that it names. */
export class PushRefused extends Error {
  readonly code: PushRefusal;

  constructor(code: PushRefusal, message: string) {
    super(message);
    this.code = code;
  }
}
