import { waitUntil } from "cloudflare:workers";
import { type Log, logJson } from "../../assembly/log.ts";
import { type Clock, waitingClock } from "../../gateway/clock.ts";
import type { Allocate } from "../../transfer/bounded-body.ts";
import { FORMAT_VERSION } from "../../zone/segment/layout.ts";
import type { LocationCache } from "./cached-source.ts";
import type { Environment } from "./environment.ts";
import { imageMemory } from "./reserved-memory.ts";
import { VERSION } from "./version.ts";

/** The object's name: one holds the whole clusterset. */
const OBJECT = "clusterset";

/** What an isolate reaches outside itself. */
export interface Surroundings {
  /** Asks the object. */
  readonly fetch: (url: string | Request, request?: RequestInit) => Promise<Response>;
  readonly cache: LocationCache;
  /** Keys of the cache begin with it. */
  readonly cacheKey: string;
  /** Takes work that nobody waits for. */
  readonly background: (work: Promise<unknown>) => void;
  readonly clock: Clock;
  readonly allocate: Allocate;
  readonly log: Log;
}

/** What an isolate at Cloudflare reaches. The object is only asked when a query needs it. */
export function cloudflareSurroundings({ CLUSTERSET }: Environment): Surroundings {
  return {
    // A stub belongs to the request that it was made in.
    fetch: (url, request) => CLUSTERSET.getByName(OBJECT).fetch(url, request),
    cache: caches.default,
    cacheKey: `https://${CLUSTERSET.idFromName(OBJECT)}.invalid/${VERSION}/${FORMAT_VERSION}`,
    background: waitUntil,
    clock: waitingClock,
    allocate: imageMemory.allocate,
    log: logJson,
  };
}
