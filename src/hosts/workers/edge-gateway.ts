import { waitUntil } from "cloudflare:workers";
import type { AdmittedGateway } from "../../http/admitted.ts";
import { type AppDependencies, createApp } from "../../http/app.ts";
import { createDnsResource, type DnsResource } from "../../http/dns-resource.ts";
import { createStatusMetrics } from "../../http/status-metrics.ts";
import { EVERYTHING, type Scope, scopeKey } from "../../merge/scope.ts";
import { HttpTransferSource } from "../../transfer/http-source.ts";
import { Secondary } from "../../transfer/secondary.ts";
import { IMAGE_FORMAT_VERSION } from "../../zone/layout.ts";
import { logJson, logTransfers, logUpstreams } from "../logging/json-log.ts";
import { isStated } from "../settings/access-settings.ts";
import { ACCESS_NOT_STATED } from "../settings/asking.ts";
import { federationOptions } from "../settings/federation-config.ts";
import { locationSettings } from "../settings/location-settings.ts";
import { createOutside, fetchUpstreams } from "../settings/outside.ts";
import { pagesOfSecondary } from "../settings/pages-of-secondary.ts";
import { createSecondarySites, type SecondarySite } from "../settings/sites-of-secondary.ts";
import { createStages } from "../settings/stages.ts";
import { CachedTransferSource } from "./cached-source.ts";
import { type Environment, readSettings } from "./environment.ts";
import { logFailure } from "./event-log.ts";
import { createPushForward } from "./push-forward.ts";
import { VERSION } from "./version.ts";

/** The object's name: one holds the whole clusterset. */
const OBJECT = "clusterset";

/** What an isolate answers requests with, where everybody gets the same answers. */
export interface OpenEdge {
  readonly secondary: Secondary;
  /** What the application answers DNS with, for who needs no application around it. */
  readonly resource: DnsResource;
  readonly app: ReturnType<typeof createApp>;
}

/** What an isolate answers requests with: for everybody, or for whoever asks. */
export type EdgeGateway = OpenEdge | FewEdge;

/** Where answers depend on who asks. */
export interface FewEdge {
  readonly admitted: AdmittedGateway<SecondarySite>;
}

/**
 * Puts together what an isolate answers with. The object is only asked when a query needs it.
 * @throws {UsageError} where the configuration is wrong
 */
export function createEdgeGateway(environment: Environment): EdgeGateway {
  const { config, authority, canPush, asking } = readSettings(environment);
  // A stub belongs to the request that it was made in.
  const object = () => environment.CLUSTERSET.getByName(OBJECT);
  const stages = createStages({ ...config, federations: federationOptions(config.federations) });
  const cacheKey = `https://${environment.CLUSTERSET.idFromName(OBJECT)}.invalid/${VERSION}/${IMAGE_FORMAT_VERSION}`;
  const secondaryOf = (scope: Scope) =>
    new Secondary({
      source: new CachedTransferSource({
        source: new HttpTransferSource({
          gateway: "https://clusterset-object.invalid",
          scope,
          fetch: (url, request) => object().fetch(url, request),
        }),
        cache: caches.default,
        key: cacheKey,
        scope: scopeKey(scope),
        background: waitUntil,
        clock: Date.now,
        sleep: (milliseconds) => scheduler.wait(milliseconds),
      }),
      stages,
      scope,
      onEvent: logTransfers(logJson),
    });
  const { outside, policies } = createOutside(config, {
    upstreams: fetchUpstreams(config.forward),
    // A request cannot wait for what belongs to another one, and ends with its response.
    coalesce: false,
    background: waitUntil,
    onUpstreamChange: logUpstreams(logJson),
  });
  const common = {
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
    ...(outside !== undefined && { outside }),
    policies,
    allowedOrigins: config.cors.origins,
    longestQuery: config.limits.queryBytes,
    onError: (error: Error) => logFailure("request-failed", "a request failed", error),
  };
  if (!isStated(config.access)) logJson("warn", "access-not-stated", ACCESS_NOT_STATED);
  if (!asking.isForEverybody)
    return { admitted: createSecondarySites({ ...asking, config, secondaryOf, common, hasMetrics: true }) };
  const secondary = secondaryOf(EVERYTHING);
  const dependencies: AppDependencies = {
    ...common,
    gateway: secondary,
    ...(config.pages.enabled && { pages: pagesOfSecondary(secondary, config) }),
    metrics: createStatusMetrics(secondary, Date.now),
  };
  const resource = createDnsResource(dependencies);
  return { secondary, resource, app: createApp(dependencies, resource) };
}
