import { padQuery } from "./upstream-query.ts";

/** One name server over any transport. The host has the transports. */
export interface Upstream {
  /** The name server as it was registered. */
  readonly nameserver: string;
  /**
   * Sends a query with ID 0 and returns the answer, also with ID 0.
   * @throws any error if there is no answer, at the latest when `signal` is aborted
   */
  exchange(query: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  /** Closes connections; exchanges in progress may fail. */
  close(): void;
}

/** The same name server with padded queries for an encrypted transport, so that their length reveals less about the name (RFC 8467). */
export function padded(upstream: Upstream): Upstream {
  return { ...upstream, exchange: (query, signal) => upstream.exchange(padQuery(query), signal) };
}
