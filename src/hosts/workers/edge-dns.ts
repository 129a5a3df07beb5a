import { createClientAddress } from "../../access/client/client-address.ts";
import { QueryCounters } from "../../answer/query-counters.ts";
import { federationOptions } from "../../config/federations.ts";
import { locationSettings } from "../../config/location.ts";
import type { AppDependencies } from "../../http/app.ts";
import { createDnsResource, type DnsResource } from "../../http/doh/dns-resource.ts";
import { EVERYTHING, type Scope, scopeKey } from "../../merge/scope.ts";
import { sleep } from "../../transfer/deadline.ts";
import { HttpTransferSource } from "../../transfer/http-source.ts";
import { Secondary } from "../../transfer/secondary.ts";
import { logTransfers, logUpstreams } from "../logging/json-log.ts";
import { createOutside, fetchUpstreams } from "../settings/outside.ts";
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

/** What all sites of an isolate share. */
export interface EdgeParts {
  /** The secondary that takes over the images of a scope. */
  readonly secondaryOf: (scope: Scope) => Secondary;
  readonly common: Omit<AppDependencies, "gateway" | "pages" | "metrics"> & {
    readonly counters: QueryCounters;
  };
}

/** What an isolate answers DNS with where everything exists for everybody. */
export function createEdgeDns(settings: WorkerSettings, surroundings: Surroundings): EdgeDns {
  const { secondaryOf, common } = createEdgeParts(settings, surroundings);
  const secondary = secondaryOf(EVERYTHING);
  return { secondary, resource: createDnsResource({ ...common, gateway: secondary }) };
}

/** Puts together what all sites share. The object is only asked when a query needs it. */
export function createEdgeParts(settings: WorkerSettings, surroundings: Surroundings): EdgeParts {
  const { config, authority, canPush } = settings;
  const { background, clock, log } = surroundings;
  const { now } = clock;
  const secondaries: Secondary[] = [];
  const { outside, policies } = createOutside(config, {
    upstreams: fetchUpstreams(config.forward),
    // A request cannot wait for what belongs to another one, and ends with its response.
    coalesce: false,
    background,
    onUpstreamChange: logUpstreams(log),
  });
  const stages = createStages({ ...config, federations: federationOptions(config.federations) });
  return {
    secondaryOf: (scope) => {
      const source = createSource(surroundings, scope);
      const secondary = new Secondary({ source, stages, scope, onEvent: logTransfers(log), clock });
      secondaries.push(secondary);
      return secondary;
    },
    common: {
      counters: new QueryCounters(),
      clock: now,
      clientAddress: createClientAddress(config.clients),
      zones: config.zones,
      version: VERSION,
      pushRoutes: createPushForward(
        authority,
        (request) => surroundings.fetch(request),
        () => {
          for (const secondary of secondaries) secondary.expire(now());
        },
      ),
      views: {
        ...(canPush && { credentials: authority }),
        optionCode: config.sourceCluster.option,
        trusted: config.sourceCluster.trusted,
        location: locationSettings(config.location),
      },
      ...(outside !== undefined && { outside }),
      policies,
      allowedOrigins: config.cors.origins,
      longestQuery: config.limits.queryBytes,
      onError: (error) => logFailure("request-failed", "a request failed", error),
    },
  };
}

/** The object's images of a scope, through the location's cache. */
function createSource(surroundings: Surroundings, scope: Scope): CachedTransferSource {
  const { cache, cacheKey, background, clock, allocate } = surroundings;
  return new CachedTransferSource({
    source: new HttpTransferSource({
      gateway: "https://clusterset-object.invalid",
      scope,
      fetch: surroundings.fetch,
      allocate,
      clock: clock.now,
    }),
    ...{ cache, key: cacheKey, scope: scopeKey(scope), allocate, background, clock: clock.now },
    sleep: (milliseconds) => sleep(clock, milliseconds),
  });
}
