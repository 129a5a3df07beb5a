import { waitUntil } from "cloudflare:workers";
import { type AppDependencies, createApp } from "../../http/app.ts";
import { createDnsResource, type DnsResource } from "../../http/dns-resource.ts";
import { createStatusMetrics } from "../../http/status-metrics.ts";
import { HttpTransferSource } from "../../transfer/http-source.ts";
import { Secondary } from "../../transfer/secondary.ts";
import { IMAGE_FORMAT_VERSION } from "../../zone/layout.ts";
import { logJson, logTransfers, logUpstreams } from "../logging/json-log.ts";
import { federationOptions } from "../settings/federation-config.ts";
import { locationSettings } from "../settings/location-settings.ts";
import { createOutside, fetchUpstreams } from "../settings/outside.ts";
import { pagesOfSecondary } from "../settings/pages-of-secondary.ts";
import { createStages } from "../settings/stages.ts";
import { CachedTransferSource } from "./cached-source.ts";
import { type Environment, readSettings } from "./environment.ts";
import { logFailure } from "./event-log.ts";
import { createPushForward } from "./push-forward.ts";
import { imageMemory } from "./reserved-memory.ts";
import { VERSION } from "./version.ts";

/** The object's name: one holds the whole clusterset. */
const OBJECT = "clusterset";

/** What an isolate answers requests with. */
export interface EdgeGateway {
  readonly secondary: Secondary;
  /** What the application answers DNS with, for who needs no application around it. */
  readonly resource: DnsResource;
  readonly app: ReturnType<typeof createApp>;
}

/**
 * Puts together what an isolate answers with. The object is only asked when a query needs it.
 * @throws {UsageError} where the configuration is wrong
 */
export function createEdgeGateway(environment: Environment): EdgeGateway {
  const { config, credentials, canPush } = readSettings(environment);
  // A stub belongs to the request that it was made in.
  const object = () => environment.CLUSTERSET.getByName(OBJECT);
  const { allocate } = imageMemory;
  const secondary = new Secondary({
    source: new CachedTransferSource({
      source: new HttpTransferSource({
        gateway: "https://clusterset-object.invalid",
        fetch: (url, request) => object().fetch(url, request),
        allocate,
      }),
      cache: caches.default,
      key: `https://${environment.CLUSTERSET.idFromName(OBJECT)}.invalid/${VERSION}/${IMAGE_FORMAT_VERSION}`,
      allocate,
      background: waitUntil,
      clock: Date.now,
      sleep: (milliseconds) => scheduler.wait(milliseconds),
    }),
    stages: createStages({ ...config, federations: federationOptions(config.federations) }),
    onEvent: logTransfers(logJson),
  });
  const { outside, policies } = createOutside(config, {
    upstreams: fetchUpstreams(config.forward),
    // A request cannot wait for what belongs to another one, and ends with its response.
    coalesce: false,
    background: waitUntil,
    onUpstreamChange: logUpstreams(logJson),
  });
  const dependencies: AppDependencies = {
    gateway: secondary,
    clock: Date.now,
    location: locationSettings(config.location),
    zones: config.zones,
    version: VERSION,
    pushRoutes: createPushForward(credentials, (request) => object().fetch(request)),
    askers: {
      ...(canPush && { credentials }),
      optionCode: config.sourceCluster.option,
      trusted: config.sourceCluster.trusted,
    },
    ...(outside !== undefined && { outside }),
    policies,
    allowedOrigins: config.cors.origins,
    longestQuery: config.limits.queryBytes,
    ...(config.pages.enabled && { pages: pagesOfSecondary(secondary, config) }),
    metrics: createStatusMetrics(secondary, Date.now),
    onError: (error) => logFailure("request-failed", "a request failed", error),
  };
  const resource = createDnsResource(dependencies);
  return { secondary, resource, app: createApp(dependencies, resource) };
}
