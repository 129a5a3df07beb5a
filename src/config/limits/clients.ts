import * as z from "zod";
import { parseAddressRanges } from "../../dns/address-range.ts";
import type { ClientNetworkSettings } from "../../limits/client-networks.ts";
import type { ClientRateSettings } from "../../limits/client-rate.ts";
import { AddressRangeText, count, NEAR_NETWORKS, UsageError } from "../values.ts";

/** The most clients with a remembered budget. */
const MOST_CLIENTS = 100_000;

/** How clients are identified, and the limits of each, on every host. */
const shared = {
  /** Addresses of proxies that report their clients' addresses. */
  trustedProxies: z.array(AddressRangeText).max(1000).default([]),
  /** The most proxies that a request passes, one behind the other. */
  hops: count(1, 16).default(1),
  /** The field with the client's address: x-forwarded-for, forwarded, or one that a single proxy overwrites. */
  header: z
    .string()
    .max(100)
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/, "must be the name of a header field, such as x-forwarded-for")
    .default("x-forwarded-for"),
  /** Addresses with the same prefix of this length are one client. */
  ipv4PrefixBits: count(8, 32).default(32),
  ipv6PrefixBits: count(16, 128).default(64),
  /** Addresses without a limit of their own. */
  exempt: z.array(AddressRangeText).max(1000).default(NEAR_NETWORKS),
  /** The rate of all requests of one client; 0 for no limit. */
  requestsPerSecond: count(0, 1_000_000).default(1500),
  /** The burst of such requests. */
  requestBurst: count(1, 10_000_000).default(3000),
};

/** `clients` on hosts that see requests only. */
export const EdgeClients = z.strictObject(shared);

/** `clients` on hosts that take connections themselves. */
export const Clients = z.strictObject({
  ...shared,
  /** The open HTTP connections of one client; 0 for no limit. */
  connections: count(0, 1_000_000).default(200),
  /** The rate of one client's new connections; 0 for no limit. */
  connectionsPerSecond: count(0, 1_000_000).default(50),
  /** The burst of new connections. */
  connectionBurst: count(1, 10_000_000).default(200),
});

export type EdgeClients = z.infer<typeof EdgeClients>;
export type Clients = z.infer<typeof Clients>;

/** Which addresses are one client, and which have no limit. Proxies have none, since they have many clients. */
function clientNetworks(clients: EdgeClients): ClientNetworkSettings {
  const { ipv4PrefixBits, ipv6PrefixBits, exempt } = clients;
  return { ipv4PrefixBits, ipv6PrefixBits, exempt: parseAddressRanges(exempt) };
}

/** The limit on each client's requests. */
export function clientRequests(clients: EdgeClients): ClientRateSettings {
  const { requestsPerSecond: perSecond, requestBurst: burst } = clients;
  return { ...clientNetworks(clients), perSecond, burst, mostClients: MOST_CLIENTS };
}

/** Which sockets are one client; those of proxies have no limit. */
export function socketNetworks(clients: Clients): ClientNetworkSettings {
  const networks = clientNetworks(clients);
  return { ...networks, exempt: [...networks.exempt, ...parseAddressRanges(clients.trustedProxies)] };
}

/** The limits on each client's connections. */
export function clientConnections(clients: Clients): ClientRateSettings {
  const { connectionsPerSecond: perSecond, connectionBurst: burst } = clients;
  return { ...socketNetworks(clients), perSecond, burst, mostClients: MOST_CLIENTS };
}

/**
 * @throws {UsageError} on hosts whose platform reports the client's address: the last entry of a list is that address itself, so the
 * list has no entry by a trusted proxy
 */
export function checkAddressHeader({ trustedProxies, header }: EdgeClients): void {
  if (trustedProxies.length > 0 && /^(?:x-forwarded-for|forwarded)$/i.test(header))
    throw new UsageError(
      `CONFIG.clients.header: must be a field that the proxy overwrites with one address, such as x-real-ip; ${header} is a list to which this platform appends`,
    );
}
