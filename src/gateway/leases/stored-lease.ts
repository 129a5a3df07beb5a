import type { ClusterMeta } from "../../database/cluster-row.ts";
import { CLOCK_JITTER, type Clock, unixTime } from "../clock.ts";
import { withTimesAhead } from "./degraded.ts";

/** What is stored of a cluster whose times are those of `clock`: Unix times, for the process that loads it has another clock. */
export function toStored(meta: ClusterMeta, clock: Clock): ClusterMeta {
  const uptime = clock.uptime?.();
  return {
    generation: meta.generation,
    pushedAt: unixTime(clock, meta.pushedAt),
    renewedAt: unixTime(clock, meta.renewedAt),
    expiresAt: unixTime(clock, meta.expiresAt),
    ...withTimesAhead(meta, unixTime(clock, 0)),
    ...(meta.instance !== undefined && { instance: meta.instance }),
    ...(uptime !== undefined && { uptime: { ...uptime, at: uptime.at - (clock.now() - meta.renewedAt) } }),
  };
}

/**
 * A cluster's meta as it goes on in a process that loads it, in times of `clock`. The lease has what was left of it, and never more than its
 * whole length, whatever the wall clock showed then and shows now.
 */
export function resumed(stored: ClusterMeta, clock: Clock): ClusterMeta {
  // Read once: between two looks at the clock a busy machine may run something else for a while.
  const now = clock.now();
  return goneOn(stored, now - elapsedSince(stored, clock, now));
}

/** @param renewedAt when the lease was renewed, by the clock that it goes on with */
function goneOn(stored: ClusterMeta, renewedAt: number): ClusterMeta {
  const { generation, pushedAt, expiresAt, instance } = stored;
  return {
    generation,
    pushedAt: renewedAt - Math.max(0, stored.renewedAt - pushedAt),
    renewedAt,
    expiresAt: renewedAt + Math.max(0, expiresAt - stored.renewedAt),
    ...withTimesAhead(stored, renewedAt - stored.renewedAt),
    ...(instance !== undefined && { instance }),
  };
}

/**
 * Milliseconds since a lease was renewed: by the wall clock, unless the machine has run since then and its uptime says something else,
 * because the wall clock was set.
 */
function elapsedSince({ renewedAt, uptime }: ClusterMeta, clock: Clock, now: number): number {
  const byWall = Math.max(0, unixTime(clock, now) - renewedAt);
  const running = clock.uptime?.();
  if (uptime === undefined || running?.boot !== uptime.boot || running.at < uptime.at) return byWall;
  const byUptime = running.at - uptime.at;
  return Math.abs(byUptime - byWall) < CLOCK_JITTER ? byWall : byUptime;
}
