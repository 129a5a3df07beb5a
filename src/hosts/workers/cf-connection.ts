import { type ClientLocation, LOCATION_FACTS, type LocationFact } from "../../http/client-location.ts";
import type { Connection } from "../../http/connection.ts";

/** What Cloudflare tells of a request's connection, looked up when it is asked for. */
export class CfConnection implements Partial<Connection> {
  readonly #request: { readonly cf?: unknown };

  /** @param request a request as a Worker or a Durable Object gets it */
  constructor(request: { readonly cf?: unknown }) {
    this.#request = request;
  }

  /** Undefined where the request did not come by Cloudflare's network. */
  get location(): ClientLocation | undefined {
    const { cf } = this.#request;
    if (typeof cf !== "object" || cf === null) return undefined;
    const location: { [Fact in LocationFact]?: string } = {};
    for (const fact of LOCATION_FACTS) {
      const value: unknown = (cf as Record<string, unknown>)[fact];
      if (typeof value === "string") location[fact] = value;
    }
    return location;
  }
}
