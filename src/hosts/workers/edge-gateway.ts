import { type AppDependencies, createApp } from "../../http/app.ts";
import { createDnsResource, type DnsResource } from "../../http/dns-resource.ts";
import { createStatusMetrics } from "../../http/status-metrics.ts";
import { sleep } from "../../transfer/deadline.ts";
import { HttpTransferSource } from "../../transfer/http-source.ts";
import { Secondary } from "../../transfer/secondary.ts";
import { logTransfers, logUpstreams } from "../logging/json-log.ts";
import { federationOptions } from "../settings/federation-config.ts";
import { locationSettings } from "../settings/location-settings.ts";
import { createOutside, fetchUpstreams } from "../settings/outside.ts";
import { pagesOfSecondary } from "../settings/pages-of-secondary.ts";
import { createStages } from "../settings/stages.ts";
import { CachedTransferSource } from "./cached-source.ts";
import type { WorkerSettings } from "./environment.ts";
import { logFailure } from "./event-log.ts";
import { createPushForward } from "./push-forward.ts";
import type { Surroundings } from "./surroundings.ts";
import { VERSION } from "./version.ts";

/** What an isolate answers DNS queries with. */
export interface EdgeDns {
  readonly secondary: Secondary;
  /** What the application answers DNS with, for who needs no application around it. */
  readonly resource: DnsResource;
}

/** What an isolate answers requests with. */
export interface EdgeGateway extends EdgeDns {
  readonly app: ReturnType<typeof createApp>;
}

/** Puts together what an isolate answers with. */
export function createEdgeGateway(settings: WorkerSettings, surroundings: Surroundings): EdgeGateway {
  const { secondary, resource, dependencies } = createDns(settings, surroundings);
  return { secondary, resource, app: createApp(dependencies, resource) };
}

/** The same for who answers DNS alone. */
export function createEdgeDns(settings: WorkerSettings, surroundings: Surroundings): EdgeDns {
  return createDns(settings, surroundings);
}

function createDns({ config, credentials, canPush }: WorkerSettings, surroundings: Surroundings) {
  const { cache, cacheKey, background, clock, allocate, log } = surroundings;
  const { now } = clock;
  const secondary = new Secondary({
    source: new CachedTransferSource({
      source: new HttpTransferSource({
        gateway: "https://clusterset-object.invalid",
        fetch: surroundings.fetch,
        allocate,
        clock: now,
      }),
      ...{ cache, key: cacheKey, allocate, background, clock: now },
      sleep: (milliseconds) => sleep(clock, milliseconds),
    }),
    stages: createStages({ ...config, federations: federationOptions(config.federations) }),
    onEvent: logTransfers(log),
    clock,
  });
  const { outside, policies } = createOutside(config, {
    upstreams: fetchUpstreams(config.forward),
    // A request cannot wait for what belongs to another one, and ends with its response.
    coalesce: false,
    background,
    onUpstreamChange: logUpstreams(log),
  });
  const dependencies: AppDependencies = {
    gateway: secondary,
    clock: now,
    location: locationSettings(config.location),
    zones: config.zones,
    version: VERSION,
    pushRoutes: createPushForward(
      credentials,
      (request) => surroundings.fetch(request),
      () => secondary.expire(now()),
    ),
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
    metrics: createStatusMetrics(secondary, now),
    onError: (error) => logFailure("request-failed", "a request failed", error),
  };
  return { secondary, resource: createDnsResource(dependencies), dependencies };
}
