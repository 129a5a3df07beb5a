import { join } from "node:path";
import { federationOptions } from "../../../config/federations.ts";
import { gatewayLimitsOf } from "../../../config/gateway.ts";
import { ownNames } from "../../../config/own-names.ts";
import { grantsOf } from "../../../config/push-credentials.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import { UsageError } from "../../../config/usage-error.ts";
import { systemClock } from "../../../gateway/clock.ts";
import { Gateway } from "../../../gateway/gateway.ts";
import { type GatewayEvent, levelOf } from "../../../gateway/gateway-events.ts";
import type { Visibility } from "../../../merge/visibility.ts";
import type { DesignatedResolver } from "../../../resolve/designated-resolvers.ts";
import { DamageCounters } from "../../../store/damage-counters.ts";
import { openFileStore } from "../../../store/file-store.ts";
import { createMirroredStore } from "../../../store/remembered/mirrored-store.ts";
import { openTextFolder } from "../../../store/remembered/text-folder.ts";
import { type OnStoreWarning, StoreError } from "../../../store/store-error.ts";
import type { ZoneImage } from "../../../zone/image.ts";
import { createStages } from "../../settings/stages.ts";
import type { Logger } from "../logger.ts";

/** What opening the gateway of a state folder takes. */
export interface OpenGatewayParts {
  readonly config: ServeConfig;
  readonly logger: Logger;
  /** The scopes that it answers in, beside everything. */
  readonly scopes: readonly Visibility[];
  readonly designated: () => DesignatedResolver | undefined;
}

/**
 * Opens the gateway over its state folder, which belongs to one process.
 * @throws {UsageError} where the folder cannot be used
 */
export async function openGateway(parts: OpenGatewayParts): Promise<Gateway<ZoneImage>> {
  const { config, logger, scopes, designated } = parts;
  const { stateDirectory } = config;
  const damage = new DamageCounters();
  const onWarning: OnStoreWarning = (warning) => {
    damage.count(warning);
    logger.warn({ event: "store-damage", ...warning }, warning.message);
  };
  try {
    return await Gateway.open({
      store: await openFileStore(join(stateDirectory, "snapshots"), { onWarning }),
      damage,
      remembered: createMirroredStore([
        await openTextFolder(join(stateDirectory, "precedence")),
        await openTextFolder(join(stateDirectory, "precedence-copy")),
      ]),
      stages: createStages({
        ...config,
        ...ownNames(config),
        grants: grantsOf(config.push.credentials),
        federations: federationOptions(config.federations),
        designated,
      }),
      clock: systemClock,
      onEvent: (event) => logEvent(logger, event),
      limits: gatewayLimitsOf(config),
      scopes,
    });
  } catch (error) {
    if (error instanceof StoreError) throw new UsageError(`${stateDirectory}: ${error.message}`);
    throw error;
  }
}

function logEvent(logger: Logger, event: GatewayEvent): void {
  if ("error" in event) {
    const { error, ...rest } = event;
    logger.error({ ...rest, err: error }, event.event.replaceAll("-", " "));
  } else if (event.event === "lease-ran-out") {
    logger.warn(event, `the lease of ${event.clusterId} expired: its names leave the answers`);
  } else {
    logger[levelOf(event)](event, event.event.replaceAll("-", " "));
  }
}
