import type { DohGateway } from "./doh-gateway.ts";
import type { GatewayStatus } from "./gateway-types.ts";
import type { ServedZone } from "./served-zone.ts";
import type { ServedImage } from "./stages.ts";

/** A gateway as far as things exist in a scope: what it says of clusters, services and itself knows of nothing else. */
export interface ScopedGateway<Image extends ServedImage = ServedImage> extends DohGateway {
  /**
   * What is answered from at `now` (Unix milliseconds): without clusters whose lease is over by then.
   * Undefined while names cannot be denied: nothing is loaded, or every cluster died.
   */
  current(now: number): ServedZone<Image> | undefined;
  status(): GatewayStatus;
}
