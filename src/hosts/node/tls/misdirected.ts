import { isIP } from "node:net";
import type { TLSSocket } from "node:tls";

/** Whether a request is for another server. @param authority the host that it names, with its port if it has one */
export type IsMisdirected = (socket: TLSSocket, authority: string) => boolean;

/**
 * Finds requests that belong to another server. A client of HTTP/2 uses one connection for several hosts if they have one address and the certificate covers
 * them (RFC 9113 section 9.1.1). Where a balancer chooses the server by the name in the handshake, and several servers share a wildcard certificate, the request
 * reaches the wrong one (RFC 9110 section 7.4). If no wildcard covers the host, no such client sent the request.
 * @param names those of the gateway, in lower case; `*.` stands for one label. Without a name no host is known to be another one
 */
export function misdirectedFrom(names: readonly string[]): IsMisdirected | undefined {
  const known = new Set(names.filter((name) => isIP(name) === 0));
  if (known.size === 0) return undefined;
  return (socket, authority) => {
    const { servername } = socket;
    // A handshake for an address has no name.
    if (!servername || isAt(authority, servername)) return false;
    const host = authority.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
    if (known.has(host) || known.has(host.replace(/^[^.]+/, "*"))) return false;
    const certificate = socket.getX509Certificate();
    if (certificate?.checkHost(host, { wildcards: false }) !== undefined) return false;
    return certificate?.checkHost(host) !== undefined;
  };
}

const COLON = 0x3a;

function isAt(authority: string, host: string): boolean {
  const { length } = host;
  return (
    authority.startsWith(host) && (authority.length === length || authority.charCodeAt(length) === COLON)
  );
}
