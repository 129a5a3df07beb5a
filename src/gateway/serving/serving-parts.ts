import type { Visibility } from "../../merge/visibility/visibility.ts";
import type { Clock } from "../clock.ts";
import type { Control } from "../desired/control.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import type { GenerationStore } from "../keeping/generation-store.ts";
import type { HeldCluster } from "../leases/held-cluster.ts";
import type { LeaseWatch } from "../leases/lease-timer.ts";
import type { RankedClusters } from "../remembered/ranked-clusters.ts";
import type { ReverseOrders } from "../remembered/reverse-memory.ts";
import type { GatewayStages, ServedGeneration } from "../stages.ts";
import type { Turns } from "../turns.ts";

/** What scopes are served with. */
export interface ScopeParts<Generation extends ServedGeneration> {
  readonly stages: GatewayStages<Generation>;
  readonly clock: Clock;
  readonly onEvent: OnGatewayEvent;
  /** Clusters whose lease ran out that are remembered. */
  readonly mostLapsed: number;
  /** For how many milliseconds after its lease a cluster stays in the answers unless `Serving.lapse` takes it out. */
  readonly hold: number;
  /** Default: generations end with the process. */
  readonly generations?: GenerationStore<Generation> | undefined;
}

/** What a gateway serves with. */
export interface ServingParts<Generation extends ServedGeneration> extends ScopeParts<Generation> {
  readonly turns: Turns;
  readonly scopes: readonly Visibility[];
  readonly remembered: RankedClusters;
  readonly reverse: ReverseOrders;
  /** The newest entry of a shared log that was applied. Default: none is shared. */
  readonly position?: (() => number) | undefined;
  /** Since when a shared log cannot be read, by the clock. Default: none is shared. */
  readonly disconnectedAt?: (() => number | undefined) | undefined;
  /** After how many milliseconds a change that is not in the answers makes them stale. */
  readonly mostBehind: number;
  /** What calls `onDue` when the next lease expires. Default: a timer of the clock. */
  readonly watchLeases: ((onDue: () => void) => LeaseWatch) | undefined;
  /** See `GatewayDependencies.share`. */
  readonly share: (() => Generator<void>) | undefined;
  /** Default: the gateway desires nothing in clusters. */
  readonly control?: Control | undefined;
  /** Called with clusters whose lease expired; they have left the answers. */
  readonly onExpired: (expired: readonly HeldCluster[]) => void;
}
