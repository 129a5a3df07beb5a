import type { ClusterMeta } from "../../database/cluster-row.ts";
import { type Degradation, degradationKey } from "../../snapshot/report/degradation.ts";
import type { GatewayEvent } from "../gateway-events.ts";
import { degradedSince } from "./degraded.ts";

/** What a request says of its cluster beside a state. */
export interface LeaseTerms {
  /** Milliseconds of the lease. */
  readonly lease: number;
  /** The worker's report. */
  readonly degraded: readonly Degradation[];
  /** What the worker reads; undefined if it does not say. */
  readonly instance: string | undefined;
}

/** The same as it was sent. */
export interface RequestedTerms {
  /** Undefined for the gateway's default. */
  readonly leaseSeconds?: number | undefined;
  /** Undefined for an empty report. */
  readonly degraded?: readonly Degradation[] | undefined;
  readonly instance?: string | undefined;
}

/**
 * What a request at `now` gives a cluster's meta, whatever it pushes.
 * @param holder of the lease before: a request without an instance takes it from nobody
 */
export function leasedAt(
  now: number,
  { lease, degraded, instance }: LeaseTerms,
  holder: string | undefined,
): Pick<ClusterMeta, "renewedAt" | "expiresAt" | "degraded" | "instance"> {
  const named = instance ?? holder;
  return {
    renewedAt: now,
    expiresAt: now + lease,
    ...degradedSince(degraded, now),
    ...(named !== undefined && { instance: named }),
  };
}

/** A cluster's meta after a request that pushes nothing. */
export function renewed(
  { generation, pushedAt, instance }: ClusterMeta,
  now: number,
  terms: LeaseTerms,
): ClusterMeta {
  return { generation, pushedAt, ...leasedAt(now, terms, instance) };
}

/** What is logged of a worker's report; undefined where it says what the one before said. */
export function reportChange(
  clusterId: string,
  { degraded: before = [] }: Pick<ClusterMeta, "degraded">,
  { degraded: after = [] }: Pick<ClusterMeta, "degraded">,
): GatewayEvent | undefined {
  if (degradationKey(before) === degradationKey(after)) return undefined;
  if (after.length === 0) return { event: "worker-recovered", clusterId };
  const degraded = after.map(({ since: _, ...degradation }) => degradation);
  return { event: "worker-degraded", clusterId, degraded };
}
