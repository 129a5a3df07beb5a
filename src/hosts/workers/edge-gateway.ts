import { assemble } from "../../assembly/assemble.ts";
import { fetchUpstreams } from "../../assembly/out-of-zone.ts";
import { VERSION } from "../../assembly/version.ts";
import type { App } from "../../http/app.ts";
import { type Visibility, visibilityKey } from "../../merge/visibility/visibility.ts";
import { sleep } from "../../transfer/deadline.ts";
import { HttpTransferSource } from "../../transfer/http-source.ts";
import { TransferCounters } from "../../transfer/transfer-events.ts";
import { CachedTransferSource } from "./cached-source.ts";
import type { WorkerSettings } from "./environment.ts";
import type { Surroundings } from "./surroundings.ts";

/** Puts the gateway of an isolate together: a secondary, which sends requests to the object only when a query needs one. */
export async function createEdgeGateway(settings: WorkerSettings, surroundings: Surroundings): Promise<App> {
  const { config, authority, clusterTokens, clusterIds, access } = settings;
  const { background, clock, log } = surroundings;
  const counters = new TransferCounters();
  const { app } = await assemble(config, {
    ...{ version: VERSION, clock, log, access, clusterTokens, clusterIds },
    upstreams: fetchUpstreams(config.forward),
    // A request cannot wait for work of another request, and its own work ends with its response.
    ...{ coalesce: false, background },
    generations: {
      sourceOf: (scope) => createSource(surroundings, scope, counters),
      counters,
      partBytes: config.limits.isolateBytes,
      pushes: {
        authority,
        send: (request) => surroundings.fetch(request),
        unreachable: {
          ...{ status: 503, code: "BUSY" },
          message: "the gateway's object could not be reached: try again later",
        },
      },
    },
  });
  return app;
}

/** The object's parts of a scope, through the location's cache. */
function createSource(
  surroundings: Surroundings,
  scope: Visibility,
  counters: TransferCounters,
): CachedTransferSource {
  const { cache, cacheKey, background, clock } = surroundings;
  return new CachedTransferSource({
    source: new HttpTransferSource({
      gateway: "https://clusterset-object.invalid",
      scope,
      fetch: surroundings.fetch,
      clock: clock.now,
      counters,
    }),
    ...{ cache, key: cacheKey, scope: visibilityKey(scope), counters, background, clock: clock.now },
    sleep: (milliseconds) => sleep(clock, milliseconds),
  });
}
