import type { FollowingState } from "../../snapshot/held/held-tables.ts";
import type { Gone } from "../../store/shared/shared-log.ts";
import type { Clock } from "../clock.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import type { HeldCluster } from "../leases/held-cluster.ts";
import type { ChangeKeeper } from "../pushing/change-keeper.ts";
import type { PushParts } from "../pushing/push-parts.ts";
import type { Precedence } from "../remembered/precedence.ts";
import type { ReverseOrders } from "../remembered/reverse-memory.ts";
import type { ServedGeneration } from "../stages.ts";
import type { Turns } from "../turns.ts";
import type { KeyedQueue } from "./keyed-queue.ts";

/** What a state is loaded with. */
export interface LoadingParts {
  readonly clock: Clock;
  readonly turns: Turns;
  readonly onEvent: OnGatewayEvent;
}

/** Where a state is loaded from that is not a store of one gateway. */
export interface StateSource {
  /** @throws {StoreError} if it cannot be loaded */
  loadState<Generation extends ServedGeneration>(parts: LoadingParts): Promise<LoadedState<Generation>>;
  close(): Promise<void>;
}

/** A cluster that is not live any more, as it was last. Of one that left before the log knew it there is no meta. */
export type GoneCluster = Gone & { readonly clusterId: string };

/** What a gateway starts with, and what keeps its changes from then on. */
export interface LoadedState<Generation extends ServedGeneration> {
  readonly kept: readonly HeldCluster[];
  /** Those that are known to have gone. Default: none. */
  readonly gone?: readonly GoneCluster[];
  readonly precedence: Precedence;
  readonly reverse: ReverseOrders;
  /** For how many milliseconds after its lease a cluster stays in the answers unless the keeper takes it out. */
  readonly hold: number;
  /** Called once. @param queue of pushes, by cluster id */
  createKeeper(parts: PushParts<Generation>, queue: KeyedQueue): ChangeKeeper;
  /** Where the entries of a new cluster are held. Default: in memory. */
  stateOf?(clusterId: string): FollowingState | undefined;
  /** The newest entry of a shared log that was applied. Default: none is shared. */
  position?(): number;
  /** Since when a shared log cannot be read, by the gateway's clock. Default: none is shared. */
  disconnectedAt?(): number | undefined;
  /** Begins to follow what other gateways do. Called once, when what was loaded is being served. */
  follow?(): void;
}
