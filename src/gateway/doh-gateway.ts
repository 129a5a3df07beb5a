import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import type { MergedServices } from "../merge/index/merged-services.ts";
import type { Answer } from "../resolve/answer.ts";
import type { Leases } from "../resolve/leases.ts";
import type { Transport } from "../resolve/message/transport.ts";
import type { ClusterStatus, GatewayStatus, ServingStatus } from "./gateway-types.ts";
import type { ServedGeneration } from "./stages.ts";

/** What the DNS routes need of the gateway. */
export interface DohGateway {
  /**
   * Answers one DNS message. The bytes of `query` are only lent: they are overwritten by the next query.
   * @param view the cluster id of the client, or the view of a place (`localityView`); undefined for outside
   * @param now Unix milliseconds
   * @param transport how the answer travels; DNS over HTTPS unless given
   * @returns undefined where `query` is no DNS query at all; a promise where a part of what is answered from has to come into memory first
   */
  answer(
    query: Uint8Array,
    view: string | undefined,
    now: number,
    transport?: Transport,
  ): Answer | undefined | Promise<Answer | undefined>;
  /** Whether there is a view of that cluster: it has pushed and has not left. Called for every query by path. */
  hasCluster(clusterId: string): boolean;
  /** Whether a cluster left on purpose, as far as this process saw it. Absent where clusters do not push. */
  hasLeft?(clusterId: string): boolean;
  status(): ServingStatus;
}

/** What is answered from, with what was said while it was compiled. */
export interface ServedZone<Generation extends ServedGeneration> {
  readonly generation: Generation;
  leases: Leases;
  readonly services: number;
  /** What it is compiled from, for explanations: between two compilations it may be ahead of the generation. Absent where nothing was merged. */
  readonly merged?: MergedServices;
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
}

/** What answers depend on of a cluster. Times are by the gateway's clock. */
export interface ClusterTerms {
  /** When its lease expires; undefined where it has expired. */
  readonly expiresAt: number | undefined;
  /** As `status` has it: JSON answers say when it was last seen. */
  readonly status: ClusterStatus;
}

/** What answers depend on beside a generation. */
export interface ScopeTerms {
  /** The known clusters, by id. One of which nothing changed has the same object as before. */
  readonly clusters: ReadonlyMap<string, ClusterTerms>;
  /** Where answers say that they are stale: since when. */
  readonly behindSince: number | undefined;
}

/** A gateway as far as things exist in a scope: what it says of clusters, services and itself knows of nothing else. */
export interface ScopedGateway<Generation extends ServedGeneration = ServedGeneration> extends DohGateway {
  /**
   * What is answered from at `now` (Unix milliseconds): without clusters whose lease has expired by then.
   * Undefined while names cannot be denied: nothing is loaded, or every cluster died.
   */
  current(now: number): ServedZone<Generation> | undefined;
  /** What another thread needs to answer from `current`; cheaper than `status`. */
  terms(now: number): ScopeTerms;
  answer(query: Uint8Array, view: string | undefined, now: number, transport?: Transport): Answer | undefined;
  status(): GatewayStatus;
}
