import { createClientAddress } from "../../access/client/client-address.ts";
import { QueryCounters } from "../../answer/query-counters.ts";
import { isStated } from "../../config/access.ts";
import { federationOptions } from "../../config/federations.ts";
import { locationSettings } from "../../config/location.ts";
import { type App, createApp } from "../../http/app.ts";
import { createRefuse } from "../../http/refusal.ts";
import type { RequestGate } from "../../http/request-gate.ts";
import { type Visibility, visibilityKey } from "../../merge/visibility.ts";
import { sleep } from "../../transfer/deadline.ts";
import { HttpTransferSource } from "../../transfer/http-source.ts";
import { Secondary } from "../../transfer/secondary.ts";
import { logTransfers, logUpstreams } from "../logging/json-log.ts";
import { gateOfClients } from "../settings/client-gate.ts";
import { ACCESS_NOT_STATED } from "../settings/edge-admission.ts";
import { createOutside, fetchUpstreams } from "../settings/outside.ts";
import { createSecondaries } from "../settings/secondaries.ts";
import { createStages } from "../settings/stages.ts";
import { CachedTransferSource } from "./cached-source.ts";
import type { WorkerSettings } from "./environment.ts";
import { logFailure } from "./event-log.ts";
import { createPushForward } from "./push-forward.ts";
import type { Surroundings } from "./surroundings.ts";
import { VERSION } from "./version.ts";

/** What an isolate answers requests with. */
export interface EdgeGateway {
  readonly app: App;
  /** The limits on clients. */
  readonly gate: RequestGate | undefined;
}

/** Puts together what an isolate answers with. The object is only asked when a query needs it. */
export function createEdgeGateway(settings: WorkerSettings, surroundings: Surroundings): EdgeGateway {
  const { config, authority, canPush, access } = settings;
  const { background, clock, log } = surroundings;
  const { now } = clock;
  const { outside, policies } = createOutside(config, {
    upstreams: fetchUpstreams(config.forward),
    // A request cannot wait for what belongs to another one, and ends with its response.
    coalesce: false,
    background,
    onUpstreamChange: logUpstreams(log),
  });
  const stages = createStages({ ...config, federations: federationOptions(config.federations) });
  const secondaries: Secondary[] = [];
  const secondaryOf = (scope: Visibility) => {
    const source = createSource(surroundings, scope);
    const secondary = new Secondary({ source, stages, scope, onEvent: logTransfers(log), clock });
    secondaries.push(secondary);
    return secondary;
  };
  if (!isStated(config.access)) log("warn", "access-not-stated", ACCESS_NOT_STATED);
  const counters = new QueryCounters();
  const refuse = createRefuse(config.cors.origins, counters);
  const app = createApp({
    ...createSecondaries({ config, rules: access.rules, secondaryOf, clock: now, hasMetrics: true }),
    ...{ access, counters, outside, policies },
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
    allowedOrigins: config.cors.origins,
    longestQuery: config.limits.queryBytes,
    onError: (error) => logFailure("request-failed", "a request failed", error),
  });
  return { app, gate: gateOfClients(config.clients, { counters, refuse }) };
}

/** The object's images of a scope, through the location's cache. */
function createSource(surroundings: Surroundings, scope: Visibility): CachedTransferSource {
  const { cache, cacheKey, background, clock, allocate } = surroundings;
  return new CachedTransferSource({
    source: new HttpTransferSource({
      gateway: "https://clusterset-object.invalid",
      scope,
      fetch: surroundings.fetch,
      allocate,
      clock: clock.now,
    }),
    ...{ cache, key: cacheKey, scope: visibilityKey(scope), allocate, background, clock: clock.now },
    sleep: (milliseconds) => sleep(clock, milliseconds),
  });
}
