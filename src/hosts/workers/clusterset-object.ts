import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono";
import { visibilitiesOf } from "../../access/rules/access-rule.ts";
import { federationOptions } from "../../config/federations.ts";
import { gatewayLimitsOf } from "../../config/gateway.ts";
import { systemClock } from "../../gateway/clock.ts";
import { Gateway } from "../../gateway/gateway.ts";
import { createPushRoutes } from "../../http/push/push-routes.ts";
import { createTransferRoutes } from "../../http/transfer-routes.ts";
import { createDurableObjectStore } from "../../store/durable-object-store.ts";
import { createMirroredStore } from "../../store/remembered/mirrored-store.ts";
import { createTextTable } from "../../store/remembered/text-table.ts";
import { logJson } from "../logging/json-log.ts";
import { createStages } from "../settings/stages.ts";
import { type Environment, readSettings, type WorkerSettings } from "./environment.ts";
import { logFailure, logGatewayEvent, logStoreWarning } from "./event-log.ts";
import { LeaseAlarm } from "./lease-alarm.ts";
import { imageMemory } from "./reserved-memory.ts";

const onError = (error: unknown) => logFailure("request-failed", "a request failed", error);

/**
 * The primary: takes pushes, keeps snapshots, compiles the image and hands it out. There is one for the whole clusterset, and only
 * the Worker reaches it.
 */
export class ClustersetObject extends DurableObject<Environment> {
  /** Set before the first request, see the constructor. */
  #app = new Hono();
  #leases: LeaseAlarm | undefined;

  constructor(state: DurableObjectState, environment: Environment) {
    super(state, environment);
    // Who compiles images takes none over, and needs the memory.
    imageMemory.release();
    state.blockConcurrencyWhile(() => this.#open(state.storage, readSettings(environment)));
  }

  override async fetch(request: Request): Promise<Response> {
    return this.#app.fetch(request);
  }

  override alarm(): void {
    this.#leases?.ring();
  }

  async #open(
    storage: DurableObjectStorage,
    { config, authority, grants, access }: WorkerSettings,
  ): Promise<void> {
    const leases = new LeaseAlarm(storage, await storage.getAlarm(), (error) =>
      logFailure("alarm-failed", "the object's alarm for the next lease could not be set", error),
    );
    const gateway = await Gateway.open({
      store: createDurableObjectStore(storage, {
        onWarning: logStoreWarning,
        mostCharacters: config.limits.allSnapshotCharacters,
      }),
      remembered: createMirroredStore([
        createTextTable(storage, "export_precedence"),
        createTextTable(storage, "export_precedence_copy"),
      ]),
      stages: createStages({ ...config, grants, federations: federationOptions(config.federations) }),
      scopes: visibilitiesOf(access.rules),
      clock: systemClock,
      onEvent: logGatewayEvent,
      limits: gatewayLimitsOf(config),
      watchLeases: (onDue) => {
        leases.onDue = onDue;
        return leases;
      },
    });
    const limits = config.limits;
    this.#app.route("/api/v1/clusters", createPushRoutes({ gateway, authority, limits, onError }));
    this.#app.route("/api/v1/transfer", createTransferRoutes({ gateway, onError }));
    this.#leases = leases;
    const clusters = gateway.status().clusters.length;
    logJson("info", "object-started", "the object loaded its snapshots", { clusters });
  }
}
