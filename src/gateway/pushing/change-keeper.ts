import type { SnapshotDelta } from "../../snapshot/entry-changes.ts";
import type { ClusterMeta, StoreChange } from "../../store/store.ts";
import type { Acknowledgement, Sender } from "../gateway-types.ts";
import type { StoreTrouble } from "../keeping/store-health.ts";
import type { HeldCluster, MeasuredChange } from "../leases/held-cluster.ts";

/** What a change is decided on, which stays the same object until something else is held: undefined where nothing is, or nothing but this gateway changes it. */
export type Base =
  | {
      /** Of the newest entry in the shared log. */ readonly id: string | undefined;
      readonly isHeld: boolean;
      /** The newest generation that left, where that is what the log has. */
      readonly left?: number | undefined;
    }
  | undefined;

/** A change that is valid and within the limits. */
export interface CheckedChange {
  readonly cluster: HeldCluster;
  readonly measured: MeasuredChange;
  /** The cluster's after it. */
  readonly meta: ClusterMeta;
  /** Whether the cluster's lease ran until now. */
  readonly live: boolean;
  readonly base: Base;
}

/** A change that is kept. */
export interface TakenChange {
  readonly acknowledgement: Acknowledgement;
  /** Resolves when the change is in the answers; undefined if nobody has requested a compilation with it yet. */
  readonly compiled?: Promise<void>;
}

/** A state or a delta as it is kept, with times of the wall clock. */
export type KeptChange = Exclude<StoreChange, { kind: "lease" }>;

/** Keeps what clusters push, and has it served: in a store of this gateway, or in a log that several gateways share. Calls for one cluster do not overlap. */
export interface ChangeKeeper {
  /** Why nothing can be kept now; undefined while it can. */
  readonly trouble: StoreTrouble | undefined;
  /** What the next change of a cluster is decided on: to be read before what is held of it. @param isDelta whether the change builds on what is held */
  baseOf(clusterId: string, isDelta: boolean): Base;
  /** Runs a push or a renewal, again where another gateway changed the cluster meanwhile. */
  run<Result>(clusterId: string, task: () => Promise<Result>): Promise<Result>;
  /** Keeps a change, then has it served. @throws {Error} what it cannot be kept for; then nothing has changed */
  take(checked: CheckedChange, kept: KeptChange): Promise<TakenChange>;
  /** `take` of a delta, which may be served before it is kept. */
  takeSmall(checked: CheckedChange, delta: SnapshotDelta, kept: KeptChange): Promise<TakenChange>;
  /** Renews a lease. @param base as of `baseOf` @throws {GenerationMismatch} if the lease ran out meanwhile */
  renew(held: HeldCluster, meta: ClusterMeta, base: Base): Promise<void>;
  /** Removes a cluster. @param sender see `refuseLate` @returns false if it was not live @throws {Error} if that cannot be kept */
  leave(clusterId: string, sender: Sender): Promise<boolean>;
  /** Clusters left the answers because their lease expired. */
  forget(expired: readonly HeldCluster[]): void;
  /** A change could not be kept. @param renewed what its cluster's meta would be if it had renewed its lease */
  refused(clusterId: string, error: unknown, renewed: (held: HeldCluster) => ClusterMeta): void;
  /** Takes no more. */
  close(): void;
}
