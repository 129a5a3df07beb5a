import { padQuery } from "./upstream-query.ts";

/** One name server, however it is reached. The host brings the transports. */
export interface Upstream {
  /** The name server as it was registered. */
  readonly nameserver: string;
  /**
   * Sends a query whose ID is 0 and gives the answer, with ID 0 again.
   * @throws any error where there is no answer, at the latest when `signal` is aborted
   */
  exchange(query: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  /** Lets go of connections; exchanges that run may end. */
  close(): void;
}

/** The same name server over an encrypted way: queries are padded, so that their length says less of the name (RFC 8467). */
export function padded(upstream: Upstream): Upstream {
  return { ...upstream, exchange: (query, signal) => upstream.exchange(padQuery(query), signal) };
}
