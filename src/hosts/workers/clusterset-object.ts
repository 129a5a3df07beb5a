import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../../gateway/clock.ts";
import { Gateway } from "../../gateway/gateway.ts";
import { createApp } from "../../http/app.ts";
import { createDirectory } from "../../http/pages/directory.ts";
import { createPushRoutes } from "../../http/push.ts";
import { createMemoryStore } from "../../store/memory-store.ts";
import { federationOptions } from "../settings/federation-config.ts";
import { createStages } from "../settings/stages.ts";
import { type Environment, readSettings } from "./environment.ts";
import { log, logGatewayEvent } from "./event-log.ts";
import { VERSION } from "./version.ts";

/** The primary: takes pushes, keeps snapshots, compiles the image. There is one for the whole clusterset. */
export class ClustersetObject extends DurableObject<Environment> {
  #app: ReturnType<typeof createApp> | undefined;

  constructor(state: DurableObjectState, environment: Environment) {
    super(state, environment);
    state.blockConcurrencyWhile(async () => {
      const { config, credentials } = readSettings(environment);
      const { lease, limits } = config;
      const gateway = await Gateway.open({
        store: createMemoryStore(),
        stages: createStages({ ...config, federations: federationOptions(config.federations) }),
        clock: systemClock,
        onEvent: logGatewayEvent,
        limits: {
          leastLeaseSeconds: lease.minimumSeconds,
          leaseSeconds: lease.defaultSeconds,
          mostLeaseSeconds: lease.maximumSeconds,
          mostClusters: limits.clusters,
          mostSnapshotCharacters: limits.snapshotCharacters,
        },
      });
      const onError = (error: unknown) => log("error", "request-failed", "a request failed", { error });
      this.#app = createApp({
        gateway,
        clock: Date.now,
        zones: config.zones,
        version: VERSION,
        pushRoutes: createPushRoutes({
          gateway,
          credentials,
          limits: { sentBytes: limits.pushSentBytes, bodyBytes: limits.pushBytes },
          onError,
        }),
        allowedOrigins: config.cors.origins,
        longestQuery: limits.queryBytes,
        onError,
      });
    });
  }

  override async fetch(request: Request): Promise<Response> {
    return this.#app!.fetch(request);
  }
}
