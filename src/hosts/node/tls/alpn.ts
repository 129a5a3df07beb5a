import type { TlsOptions } from "node:tls";

/**
 * Negotiates the first of these protocols that the client offers (RFC 7301); a client that offers none of them is rejected. Node's `ALPNProtocols` does the
 * same, but copies the list for each connection into a part of a buffer of 64 KiB, and holds that for as long as the connection lives.
 */
export function negotiate(supported: readonly string[]): Pick<TlsOptions, "ALPNCallback"> {
  return { ALPNCallback: ({ protocols }) => supported.find((protocol) => protocols.includes(protocol)) };
}
