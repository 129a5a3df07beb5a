import * as z from "zod";
import { parseAddressRanges } from "../../dns/address-range.ts";
import type { ClientNetworkSettings } from "../../limits/client-networks.ts";
import type { ClientRateSettings } from "../../limits/client-rate.ts";
import { UsageError } from "../values/usage-error.ts";
import { AddressRangeText, NEAR_NETWORKS } from "../values/values.ts";

const count = (least: number, most: number) => z.int().min(least).max(most);

/** Clients that are remembered with what they have left. */
const MOST_CLIENTS = 100_000;

/** Who a client is, and how much each may ask for: on every host. */
const shared = {
  /** Addresses of sockets whose word counts for whom they were asked by. */
  trustedProxies: z.array(AddressRangeText).max(1000).default([]),
  /** How many of them a request passes at most, one behind the other. */
  hops: count(1, 16).default(1),
  /** The field that says so: x-forwarded-for, forwarded, or one that a single proxy overwrites with the address. */
  header: z
    .string()
    .max(100)
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/, "must be the name of a header field, such as x-forwarded-for")
    .default("x-forwarded-for"),
  /** Addresses with so many bits in common are one client. */
  ipv4PrefixBits: count(8, 32).default(32),
  ipv6PrefixBits: count(16, 128).default(64),
  /** Addresses without a limit of their own. */
  exempt: z.array(AddressRangeText).max(1000).default(NEAR_NETWORKS),
  /** Requests of one client, whatever they are for; 0 for any number. */
  requestsPerSecond: count(0, 1_000_000).default(1500),
  /** Such requests at once after a pause. */
  requestBurst: count(1, 10_000_000).default(3000),
};

/** `clients` on hosts that see requests only. */
export const EdgeClients = z.strictObject(shared);

/** `clients` on hosts that take connections themselves. */
export const Clients = z.strictObject({
  ...shared,
  /** Connections of one client at the same time, over HTTP; 0 for any number. */
  connections: count(0, 1_000_000).default(200),
  /** New connections of one client; 0 for any number. */
  connectionsPerSecond: count(0, 1_000_000).default(50),
  /** New connections at once after a pause. */
  connectionBurst: count(1, 10_000_000).default(200),
});

export type EdgeClients = z.infer<typeof EdgeClients>;
export type Clients = z.infer<typeof Clients>;

/** Which addresses are one client, and which have no limit. Proxies have none: they stand for many. */
export function clientNetworks(clients: EdgeClients): ClientNetworkSettings {
  const { ipv4PrefixBits, ipv6PrefixBits, exempt } = clients;
  return { ipv4PrefixBits, ipv6PrefixBits, exempt: parseAddressRanges(exempt) };
}

/** How much each client may ask for. */
export function clientRequests(clients: EdgeClients): ClientRateSettings {
  const { requestsPerSecond: perSecond, requestBurst: burst } = clients;
  return { ...clientNetworks(clients), perSecond, burst, mostClients: MOST_CLIENTS };
}

/** Which sockets are one client, proxies apart: they stand for many. */
export function socketNetworks(clients: Clients): ClientNetworkSettings {
  const networks = clientNetworks(clients);
  return { ...networks, exempt: [...networks.exempt, ...parseAddressRanges(clients.trustedProxies)] };
}

/** How many connections each client may open. */
export function clientConnections(clients: Clients): ClientRateSettings {
  const { connectionsPerSecond: perSecond, connectionBurst: burst } = clients;
  return { ...socketNetworks(clients), perSecond, burst, mostClients: MOST_CLIENTS };
}

/**
 * @throws {UsageError} on hosts whose platform tells the client's address: the last entry of a list is that address itself, so that nothing in the
 * list says whom a proxy was asked by
 */
export function checkToldAddress({ trustedProxies, header }: EdgeClients): void {
  if (trustedProxies.length > 0 && /^(?:x-forwarded-for|forwarded)$/i.test(header))
    throw new UsageError(
      `CONFIG.clients.header: must be a field that the proxy overwrites with one address, such as x-real-ip; ${header} is a list to which this platform appends`,
    );
}
