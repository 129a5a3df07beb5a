import { waitUntil } from "cloudflare:workers";
import { createApp } from "../../http/app.ts";
import { HttpTransferSource } from "../../transfer/http-source.ts";
import { Secondary } from "../../transfer/secondary.ts";
import { federationOptions } from "../settings/federation-config.ts";
import { locationSettings } from "../settings/location-settings.ts";
import { createStages } from "../settings/stages.ts";
import { CachedTransferSource } from "./cached-source.ts";
import { type Environment, readSettings } from "./environment.ts";
import { log, logTransferEvent } from "./event-log.ts";
import { createPushForward } from "./push-forward.ts";
import { VERSION } from "./version.ts";

/** The object's name: one holds the whole clusterset. */
const OBJECT = "clusterset";

/** What an isolate answers requests with. */
export interface EdgeGateway {
  readonly secondary: Secondary;
  readonly app: ReturnType<typeof createApp>;
}

/**
 * Puts together what an isolate answers with. The object is only asked when a query needs it.
 * @throws {UsageError} where the configuration is wrong
 */
export function createEdgeGateway(environment: Environment): EdgeGateway {
  const { config, authority, canPush } = readSettings(environment);
  // A stub belongs to the request that it was made in.
  const object = () => environment.CLUSTERSET.getByName(OBJECT);
  const secondary = new Secondary({
    source: new CachedTransferSource({
      source: new HttpTransferSource({
        gateway: "https://clusterset-object.invalid",
        fetch: (url, request) => object().fetch(url, request),
      }),
      cache: caches.default,
      key: `https://${environment.CLUSTERSET.idFromName(OBJECT)}.invalid/${VERSION}`,
      background: waitUntil,
      clock: Date.now,
      sleep: (milliseconds) => scheduler.wait(milliseconds),
    }),
    stages: createStages({ ...config, federations: federationOptions(config.federations) }),
    onEvent: logTransferEvent,
  });
  const app = createApp({
    gateway: secondary,
    clock: Date.now,
    location: locationSettings(config.location),
    zones: config.zones,
    version: VERSION,
    pushRoutes: createPushForward(authority, (request) => object().fetch(request)),
    askers: {
      ...(canPush && { credentials: authority }),
      optionCode: config.sourceCluster.option,
      trusted: config.sourceCluster.trusted,
    },
    allowedOrigins: config.cors.origins,
    longestQuery: config.limits.queryBytes,
    onError: (error) => log("error", "request-failed", "a request failed", { error }),
  });
  return { secondary, app };
}
