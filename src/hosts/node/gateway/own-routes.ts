import type { QueryCounters } from "../../../answer/query-counters.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import type { StubZones } from "../../../forward/stub-zones.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import type { OwnRoutes } from "../../../http/app.ts";
import { createStubRoutes } from "../../../http/federations/stub-routes.ts";
import { createPushRoutes } from "../../../http/push/push-routes.ts";
import { createTransferRoutes } from "../../../http/transfer-routes.ts";
import type { ZoneImage } from "../../../zone/image.ts";
import type { Logger } from "../logger.ts";
import { nodeClock } from "../node-clock.ts";
import type { NodeAccess } from "./load-access.ts";

/** What the routes that ask for credentials of their own work with. */
export interface OwnRoutesParts {
  readonly config: ServeConfig;
  readonly gateway: Gateway<ZoneImage>;
  readonly access: NodeAccess;
  readonly counters: QueryCounters;
  readonly stubs: StubZones;
  readonly logger: Logger;
  readonly onError: (error: unknown) => void;
}

/** The push API, transfer where somebody may take images over, and federations. */
export function createOwnRoutes(parts: OwnRoutesParts): OwnRoutes {
  const { config, gateway, access, counters, stubs, logger, onError } = parts;
  const { pushing, secondaries, admission } = access;
  return {
    pushRoutes: createPushRoutes({
      gateway,
      authority: pushing,
      limits: config.limits,
      counters: counters.limits,
      onError,
    }),
    ...(config.transfer.credentials.length > 0 && {
      transferRoutes: createTransferRoutes({
        gateway,
        authority: secondaries,
        clock: nodeClock.now,
        onError,
      }),
    }),
    stubRoutes: createStubRoutes({
      stubs,
      counters: counters.limits,
      isForPushing: (identity) => pushing.isOfHolder(identity),
      isForAsking: (identity) => admission.isOfRule(identity),
      onError,
      onChange: (change, federation) =>
        logger.info({ event: `federation-${change}`, federation }, `federation ${federation} ${change}`),
    }),
  };
}
