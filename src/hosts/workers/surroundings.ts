import { waitUntil } from "cloudflare:workers";
import { type Log, logJson } from "../../assembly/log.ts";
import { VERSION } from "../../assembly/stages.ts";
import { type Clock, waitingClock } from "../../gateway/clock.ts";
import type { LocationCache } from "./cached-source.ts";
import type { Environment } from "./environment.ts";

/** The object's name: one object has the whole clusterset. */
const OBJECT = "clusterset";

/** The services that an isolate uses. */
export interface Surroundings {
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
export function cloudflareSurroundings({ CLUSTERSET }: Environment): Surroundings {
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
