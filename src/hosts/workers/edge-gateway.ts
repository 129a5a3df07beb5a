import { waitUntil } from "cloudflare:workers";
import { assemble } from "../../assembly/assemble.ts";
import { createEdgeAccess, type EdgeIdentities } from "../../assembly/credentials.ts";
import { type Log, logJson } from "../../assembly/log.ts";
import { fetchUpstreams } from "../../assembly/out-of-zone.ts";
import { VERSION } from "../../assembly/stages.ts";
import { readAllPushCredentials, readEdgeConfig } from "../../config/edge-config.ts";
import type { EdgeConfig } from "../../config/settings.ts";
import { type Clock, waitingClock } from "../../gateway/clock.ts";
import type { App } from "../../http/app.ts";
import { type Visibility, visibilityKey } from "../../merge/visibility.ts";
import { HttpTransferSource, sleep } from "../../transfer/http-source.ts";
import { TransferCounters } from "../../transfer/transfer-state.ts";
import { CachedTransferSource, type LocationCache } from "./cached-source.ts";

/**
 * Puts the gateway of an isolate together: a secondary, which sends requests to the object only when a query
 * needs one.
 */
export async function createEdgeGateway(settings: WorkerSettings, bindings: Bindings): Promise<App> {
  const { config, authority, ...identities } = settings;
  const { background, clock, log } = bindings;
  const counters = new TransferCounters();
  const { app } = await assemble(config, {
    clock,
    log,
    ...identities,
    upstreams: fetchUpstreams(config.forward),
    // A request cannot wait for work of another request, and its own work ends with its response.
    coalesce: false,
    background,
    generations: {
      sourceOf: (scope) => createSource(bindings, scope, counters),
      counters,
      partBytes: config.limits.isolateBytes,
      pushes: {
        authority,
        send: (request) => bindings.fetch(request),
        unreachable: {
          code: "BUSY",
          message: "the gateway's object could not be reached: try again later",
        },
      },
    },
  });
  return app;
}

/** The object's parts of a scope, through the location's cache. */
function createSource(
  bindings: Bindings,
  scope: Visibility,
  counters: TransferCounters,
): CachedTransferSource {
  const { cache, cacheKey, background, clock } = bindings;
  return new CachedTransferSource({
    source: new HttpTransferSource({
      gateway: "https://clusterset-object.invalid",
      scope,
      fetch: bindings.fetch,
      clock: clock.now,
      counters,
    }),
    cache,
    key: cacheKey,
    scope: visibilityKey(scope),
    counters,
    background,
    clock: clock.now,
    sleep: (milliseconds) => sleep(clock, milliseconds),
  });
}

/** The object's name: one object has the whole clusterset. */
const OBJECT = "clusterset";

/** The services that an isolate uses. */
export interface Bindings {
  /** Sends a request to the object. */
  readonly fetch: (url: string | Request, request?: RequestInit) => Promise<Response>;
  readonly cache: LocationCache;
  /** The prefix of the cache's keys. */
  readonly cacheKey: string;
  /** Runs work in the background. */
  readonly background: (work: Promise<unknown>) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** The services of an isolate at Cloudflare. It sends requests to the object only when a query needs one. */
export function cloudflareBindings({ CLUSTERSET }: Environment): Bindings {
  return {
    // A stub is valid only in the request that created it.
    fetch: (url, request) => CLUSTERSET.getByName(OBJECT).fetch(url, request),
    cache: caches.default,
    cacheKey: `https://${CLUSTERSET.idFromName(OBJECT)}.invalid/${VERSION}`,
    background: waitUntil,
    clock: waitingClock,
    log: logJson,
  };
}

/** The bindings of wrangler.toml, and the secrets. */
export interface Environment {
  readonly CLUSTERSET: DurableObjectNamespace;
  /** The settings; see `EdgeConfig`. */
  readonly CONFIG?: unknown;
  /**
   * The credentials for pushing; see `EdgePushCredentials`. More of them are in `PUSH_CREDENTIALS_2` and so
   * on, since a secret has at most 5 KB.
   */
  readonly PUSH_CREDENTIALS?: string;
}

/** The settings of a Worker, read once for each isolate. */
export interface WorkerSettings extends EdgeIdentities {
  readonly config: EdgeConfig;
}

/** @throws {UsageError} with each wrong key */
export function readSettings(environment: Environment): WorkerSettings {
  const credentials = readAllPushCredentials(environment);
  const config = readEdgeConfig(environment.CONFIG);
  return { config, ...createEdgeAccess(config, credentials, logJson) };
}
