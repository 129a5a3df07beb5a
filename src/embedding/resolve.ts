/** `clusterset-doh/resolve`: snapshots to DNS answers, without a gateway: no I/O, no timers, no host. */
import { LRUCache } from "lru-cache";
import { type Survey, surveyOf } from "../gateway/survey.ts";
import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import { DatabaseEntries } from "../names/database-entries.ts";
import { type KeptUnit, KeyWorld } from "../names/key-world.ts";
import { SnapshotRows } from "../names/snapshot-rows.ts";
import { HTTPS, type Transport } from "../resolve/message-writer.ts";
import { LeaseTables, type Outcome } from "../resolve/record-writer.ts";
import { resolve } from "../resolve/resolve.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import type { ZoneOptions } from "../zone/zone-plan.ts";

export type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
export { HTTPS, streamTransport, type Transport, udpTransport } from "../resolve/message-writer.ts";
export type { Outcome } from "../resolve/record-writer.ts";
export type { FederationOptions, ZoneOptions } from "../zone/zone-plan.ts";

/** How a query is answered. */
export interface ResolveOptions {
  /** The id of the client's cluster. Default: a client outside every cluster. */
  readonly view?: string;
  /** Default: `HTTPS`. */
  readonly transport?: Transport;
  /** The answer to a name out of zone. Default: `refuse`. */
  readonly outside?: "refuse" | "nxdomain";
  /** Which record comes first where the order has no meaning (RFC 1794): a count of queries. Default: 0. */
  readonly rotation?: number;
}

/** A DNS answer. */
export interface ResolvedAnswer {
  /** The DNS message; the caller owns it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly outcome: Outcome;
  /** The smallest TTL in seconds (RFC 8484 section 5.1); 0 if caches must not keep the answer. */
  readonly freshness: number;
}

/** Services whose names are kept once they were compiled, and names without a service. */
const MOST_KEPT = 10_000;

/**
 * The names of some snapshots: they never change. A service is compiled when a query first needs it; the
 * properties compile all services once.
 */
export interface CompiledClusterset {
  /** How many services have names. */
  readonly services: number;
  /** Properties on which clusters disagree (KEP-1645). */
  readonly conflicts: readonly Conflict[];
  /** Objects, or parts of them, that are not served, with the reason. */
  readonly findings: readonly ClusterFinding[];
  /**
   * Answers a DNS query as if every cluster were live.
   * @returns undefined for bytes that are not a DNS query
   */
  resolve(query: Uint8Array, options?: ResolveOptions): ResolvedAnswer | undefined;
}

/**
 * What has to be known besides snapshots: zones, TTLs in seconds, federations. Default: `clusterset.local`.
 */
export type CompileOptions = Partial<
  Pick<ZoneOptions, "zones" | "ttl" | "negativeTtl" | "serial" | "federations">
>;

/**
 * Merges snapshots by KEP-1645 and compiles them.
 * @param snapshots one of each cluster, in any order, as `parseSnapshot` returns them
 * @throws {RangeError} for two snapshots of one cluster
 * @throws {Error} for names of zones that cannot be served
 */
export function compileSnapshots(
  snapshots: readonly ClusterSnapshot[],
  options: CompileOptions = {},
): CompiledClusterset {
  const ids = snapshots.map(({ clusterId }) => clusterId);
  const twice = ids.find((clusterId, index) => ids.indexOf(clusterId) !== index);
  if (twice !== undefined) throw new RangeError(`two snapshots have the cluster id "${twice}"`);
  const world = new KeyWorld(
    new DatabaseEntries(new SnapshotRows(snapshots), ids),
    options,
    {},
    new LRUCache<string, KeptUnit>({ max: MOST_KEPT }),
  );
  const leases = new LeaseTables(() => Number.POSITIVE_INFINITY);
  let survey: Survey | undefined;
  const surveyed = () => {
    survey ??= surveyOf(world);
    return survey;
  };
  return {
    get services() {
      return surveyed().services!;
    },
    get conflicts() {
      return surveyed().conflicts;
    },
    get findings() {
      return surveyed().findings;
    },
    resolve(query, { view, transport = HTTPS, outside = "refuse", rotation = 0 } = {}) {
      const answer = resolve(query, {
        world,
        leases,
        view,
        transport,
        outside,
        rotation,
        now: 0,
      });
      return answer && { bytes: answer.bytes, outcome: answer.outcome, freshness: answer.freshness };
    },
  };
}
