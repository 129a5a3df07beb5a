import type { HttpRequest } from "../exchange.ts";
import type { Asker, AskerReader } from "./asker.ts";
import { createLocationHeaders, type LocationHeaders } from "./location-headers.ts";
import { createLocationRules, type LocationRule } from "./location-rules.ts";

/** Where the client's location is from, `cf` being what the host says of the connection, and what it decides. */
export type LocationSettings = {
  readonly rules: readonly LocationRule[];
} & ({ readonly source: "cf" } | ({ readonly source: "headers" } & LocationHeaders));

/**
 * Lets the client's location decide where nothing else says who asks: a source cluster by option or token wins. Every answer
 * is for one client alone. A Vary field could not tell caches apart: a cache in front of the proxy that adds the header
 * sees requests without it, which are all the same to it (RFC 9111 section 4.1).
 * @throws {RangeError} for a range of addresses that is none
 */
export function locateAskers(
  reader: AskerReader,
  settings: LocationSettings,
  hasCluster: (clusterId: string) => boolean,
): AskerReader {
  const choose = createLocationRules(settings.rules, hasCluster);
  const locationOf =
    settings.source === "headers"
      ? createLocationHeaders(settings)
      : (request: HttpRequest) => request.connection?.location;

  const locate = (request: HttpRequest, asker: Asker): Asker => {
    if (asker.view !== undefined) return asker;
    const choice = choose(locationOf(request));
    return choice === undefined
      ? { ...asker, isPrivate: true }
      : { view: choice.view, place: choice.place, isPrivate: true, byLocation: true };
  };

  return {
    variesByCredential: reader.variesByCredential,
    read(request, query) {
      const found = reader.read(request, query);
      return found instanceof Promise
        ? found.then((asker) => asker && locate(request, asker))
        : locate(request, found);
    },
  };
}
