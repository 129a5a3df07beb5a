import * as z from "zod";
import { parseAddressRanges } from "../dns/address.ts";
import { DEFAULT_SNAPSHOT_BOUNDS } from "../gateway/limits.ts";
import { DEFAULT_CONTROL_LIMITS as DEFAULT_CONTROL } from "../http/push/desired.ts";
import { DEFAULT_PUSH_LIMITS } from "../http/push/limits.ts";
import type { ClientRateSettings } from "../limits/client-rate.ts";
import type { ClientNetworkSettings } from "../limits/client-table.ts";
import { AddressRangeText, count, NEAR_NETWORKS, seconds, UsageError } from "./values.ts";

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

/** The keys of `limits` for streams of desired states. */
export const controlLimits = {
  /** Streams of all clusters, and of one, at the same time. */
  controlStreams: count(1, 100_000).default(DEFAULT_CONTROL.controlStreams),
  controlStreamsPerCluster: count(1, 1000).default(DEFAULT_CONTROL.controlStreamsPerCluster),
  /** The longest stream; `responseSeconds` cuts off those that are longer. */
  controlSeconds: count(1, 3600).default(DEFAULT_CONTROL.controlSeconds),
  /** The longest time in which a reader takes nothing. */
  controlIdleSeconds: count(1, 3600).default(DEFAULT_CONTROL.controlIdleSeconds),
};

const DEFAULT_PUSH = DEFAULT_PUSH_LIMITS;

/** The keys of `limits` for pushes. */
export const pushLimits = {
  /** The size of a push on the wire, compressed or not. */
  pushSentBytes: count(1024, 2 ** 30).default(DEFAULT_PUSH.pushSentBytes),
  /** The size of a push after decompression, and of one cluster's pushes that are read at the same time. */
  pushBytes: count(1024, 2 ** 30).default(DEFAULT_PUSH.pushBytes),
  /** The largest ratio of decompression. */
  pushRatio: count(10, 2000).default(DEFAULT_PUSH.pushRatio),
  pushLevels: count(12, 1000).default(DEFAULT_PUSH.pushLevels),
  /** The longest pause in a body, and the longest time for all of it. */
  pushIdleSeconds: count(1, 600).default(DEFAULT_PUSH.pushIdleSeconds),
  pushSeconds: count(1, 3600).default(DEFAULT_PUSH.pushSeconds),
  /** Members and elements of a push. */
  pushValues: count(1000, 100_000_000).default(DEFAULT_PUSH.pushValues),
  /** The rate of members and elements in one cluster's pushes. */
  pushValuesPerSecond: count(1, 100_000_000).default(DEFAULT_PUSH.pushValuesPerSecond),
  /** The size of all clusters' bodies that are read at the same time. */
  pushBytesInFlight: count(1024, 2 ** 32).default(DEFAULT_PUSH.pushBytesInFlight),
  /** The first bytes of each body, which do not count as `pushBytesInFlight`. */
  pushSmallBytes: count(0, 2 ** 24).default(DEFAULT_PUSH.pushSmallBytes),
  /** Snapshots and deltas of one cluster at the same time. */
  pushesInFlight: count(1, 1000).default(DEFAULT_PUSH.pushesInFlight),
  /** The rate and the burst of one cluster's requests, including renewals. */
  pushesPerSecond: count(1, 100_000).default(DEFAULT_PUSH.pushesPerSecond),
  pushBurst: count(1, 1_000_000).default(DEFAULT_PUSH.pushBurst),
};

/** The keys of `limits` on hosts that take connections themselves. */
export const serverLimits = {
  connections: count(1, 1_000_000).default(10_000),
  streamsPerConnection: count(1, 10_000).default(128),
  /** The burst and the rate of a connection's streams that end by a reset. */
  streamResets: count(1, 1_000_000).default(500),
  streamResetsPerSecond: count(1, 1_000_000).default(33),
  /** Requests in progress, until the client has read the response. */
  requestsInFlight: count(1, 10_000_000).default(20_000),
  /** The median delay of timers above which requests that can wait are rejected; 0 for no limit. */
  loopDelayMilliseconds: count(0, 60_000).default(200),
  headerBytes: count(4096, 1_048_576).default(24_576),
  headerFields: count(16, 2000).default(64),
  handshakeSeconds: seconds(1, 600).default(10),
  requestSeconds: seconds(1, 3600).default(20),
  responseSeconds: seconds(1, 3600).default(120),
  idleSeconds: seconds(1, 86_400).default(120),
};

const ServerLimits = z.object(serverLimits);

/** The limits of a server by the names of their keys. */
export type ServerLimits = Readonly<z.infer<typeof ServerLimits>>;

export const DEFAULT_SERVER_LIMITS: ServerLimits = ServerLimits.parse({});

const countUpTo = (most: number) => z.int().min(1).max(most);
const DEFAULT_BOUNDS = DEFAULT_SNAPSHOT_BOUNDS;

/** The keys of `limits` for the contents of one cluster's snapshot. */
export const snapshotBounds = {
  namespaces: countUpTo(60_000).default(DEFAULT_BOUNDS.namespaces),
  exports: countUpTo(1_000_000).default(DEFAULT_BOUNDS.exports),
  imports: countUpTo(1_000_000).default(DEFAULT_BOUNDS.imports),
  /** Services of the cluster's own zone, and pods with names in it. */
  services: countUpTo(1_000_000).default(DEFAULT_BOUNDS.services),
  pods: countUpTo(10_000_000).default(DEFAULT_BOUNDS.pods),
  /** Endpoints of exports, imports and services together. */
  endpoints: countUpTo(10_000_000).default(DEFAULT_BOUNDS.endpoints),
  /** Ports of services, and of each endpoint, together. */
  ports: countUpTo(100_000_000).default(DEFAULT_BOUNDS.ports),
  findings: countUpTo(1_000_000).default(DEFAULT_BOUNDS.findings),
  /** Exported labels and annotations together. */
  metadataCharacters: countUpTo(2 ** 29).default(DEFAULT_BOUNDS.metadataCharacters),
};
