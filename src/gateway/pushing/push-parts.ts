import type { SnapshotStore } from "../../store/store.ts";
import type { Clock } from "../clock.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import type { Precedence } from "../remembered/precedence.ts";
import type { Serving } from "../serving/serving.ts";
import type { ServedGeneration } from "../stages.ts";
import type { Turns } from "../turns.ts";
import type { GatewayLimits } from "./limits.ts";

/** The parts of a gateway that pushes use. */
export interface PushParts<Generation extends ServedGeneration> {
  readonly precedence: Precedence;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly limits: GatewayLimits;
  readonly onEvent: OnGatewayEvent;
  readonly serving: Serving<Generation>;
}

/** Those of a gateway with a store of its own. */
export interface KeptParts<Generation extends ServedGeneration> extends PushParts<Generation> {
  readonly store: SnapshotStore;
}
