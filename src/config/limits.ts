import * as z from "zod";
import { parseAddressRanges } from "../dns/address.ts";
import type { ClientNetworkSettings, ClientRateSettings } from "../limits/client-rate.ts";
import { need, needAll } from "./hosts.ts";
import { AddressRangeText, count, NEAR_NETWORKS, UsageError } from "./values.ts";

/** The most clients with a remembered budget. */
const MOST_CLIENTS = 100_000;

/** How clients are identified, and the limits of each. */
export const Clients = z.strictObject({
  /** Addresses of proxies that report their clients' addresses. */
  trustedProxies: z.array(AddressRangeText).max(1000).default([]),
  /** The most proxies that a request passes, one behind the other. */
  hops: count(1, 16).default(1),
  /**
   * The field with the client's address: x-forwarded-for, forwarded, or one that a single proxy overwrites.
   */
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
  ...needAll("sockets", {
    /** The open HTTP connections of one client; 0 for no limit. */
    connections: count(0, 1_000_000).default(200),
    /** The rate of one client's new connections; 0 for no limit. */
    connectionsPerSecond: count(0, 1_000_000).default(50),
    /** The burst of new connections. */
    connectionBurst: count(1, 10_000_000).default(200),
  }),
});

export type Clients = z.infer<typeof Clients>;
/** Those of a host whose platform takes connections. */
type RequestClients = Omit<Clients, "connections" | "connectionsPerSecond" | "connectionBurst">;

/**
 * Which addresses are one client, and which have no limit. Proxies have none, since they have many clients.
 */
function clientNetworks(clients: RequestClients): ClientNetworkSettings {
  const { ipv4PrefixBits, ipv6PrefixBits, exempt } = clients;
  return { ipv4PrefixBits, ipv6PrefixBits, exempt: parseAddressRanges(exempt) };
}

/** The limit on each client's requests. */
export function clientRequests(clients: RequestClients): ClientRateSettings {
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
 * @throws {UsageError} on hosts whose platform reports the client's address: the last entry of a list is that
 * address itself, so the list has no entry by a trusted proxy
 */
export function checkAddressHeader({ trustedProxies, header }: RequestClients): void {
  if (trustedProxies.length > 0 && /^(?:x-forwarded-for|forwarded)$/i.test(header))
    throw new UsageError(
      `CONFIG.clients.header: must be a field that the proxy overwrites with one address, such as x-real-ip; ${header} is a list to which this platform appends`,
    );
}

const MEBI = 1024 * 1024;

/**
 * A limit on what a push stages: on disk, or in a Durable Object, which has 128 MB of memory for all pushes
 * (docs/how-to/deploy/edge.md).
 */
const staged = (limit: z.ZodInt, onDisk: number, inMemory: number) =>
  need("files", limit.default(onDisk), limit.default(inMemory));

const serverLimits = {
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
  handshakeSeconds: count(1, 600).default(10),
  requestSeconds: count(1, 3600).default(20),
  responseSeconds: count(1, 3600).default(120),
  idleSeconds: count(1, 86_400).default(120),
};

/**
 * `limits`. By default there is room for the largest cluster that Kubernetes supports (Considerations for
 * large clusters; scalability thresholds), and a fifth more: 150,000 pods, 10,000 Services and 10,000
 * namespaces, with each Service exported, in the cluster's own zone, and with a finding.
 */
export const Limits = z.strictObject({
  queryBytes: count(12, 65_535).default(65_535),
  clusters: count(1, 10_000).default(1000),
  /** The size of one cluster's snapshot as JSON. */
  snapshotCharacters: staged(count(1024, 2 ** 29), 48 * MEBI, 16 * MEBI),
  /** The endpoints of an export, an import or a service of a cluster's own zone. */
  endpointsPerService: count(1, 1_000_000).default(20_000),
  namespaces: count(1, 60_000).default(10_000),
  exports: count(1, 1_000_000).default(12_000),
  imports: count(1, 1_000_000).default(12_000),
  /** Services of the cluster's own zone, and pods with names in it. */
  services: count(1, 1_000_000).default(12_000),
  pods: count(1, 10_000_000).default(180_000),
  /** Endpoints of exports, imports and services together. */
  endpoints: count(1, 10_000_000).default(360_000),
  /** Ports of services, and of each endpoint, together. */
  ports: count(1, 100_000_000).default(800_000),
  findings: count(1, 1_000_000).default(12_000),
  /** Exported labels and annotations together. */
  metadataCharacters: count(1, 2 ** 29).default(4 * MEBI),
  /** Answers without a push are stale this many seconds after it. */
  pushDelaySeconds: count(1, 3600).default(5),
  /** The size of a push on the wire, compressed or not. */
  pushSentBytes: count(1024, 2 ** 30).default(16 * MEBI),
  /** The size of a push after decompression, and of one cluster's pushes that are read at the same time. */
  pushBytes: staged(count(1024, 2 ** 30), 48 * MEBI, 16 * MEBI),
  /** The largest ratio of decompression. */
  pushRatio: count(10, 2000).default(200),
  pushLevels: count(12, 1000).default(32),
  /** The longest pause in a body, and the longest time for all of it. */
  pushIdleSeconds: count(1, 600).default(5),
  pushSeconds: count(1, 3600).default(20),
  /** Members and elements of a push. */
  pushValues: staged(count(1000, 100_000_000), 2_000_000, 1_000_000),
  /** The rate of members and elements in one cluster's pushes. */
  pushValuesPerSecond: count(1, 100_000_000).default(50_000),
  /** The size of all clusters' bodies that are read at the same time. */
  pushBytesInFlight: staged(count(1024, 2 ** 32), 192 * MEBI, 32 * MEBI),
  /** The first bytes of each body, which do not count as `pushBytesInFlight`. */
  pushSmallBytes: staged(count(0, 2 ** 24), 64 * 1024, 16 * 1024),
  /** Snapshots and deltas of one cluster at the same time. */
  pushesInFlight: count(1, 1000).default(2),
  /** The rate and the burst of one cluster's requests, including renewals. */
  pushesPerSecond: count(1, 100_000).default(50),
  pushBurst: count(1, 1_000_000).default(500),
  /**
   * Compiled names that an isolate holds: those that queries used last. Its program takes the rest of 64 MB.
   */
  isolateBytes: need("isolates", count(MEBI, 64 * MEBI).default(24 * MEBI)),
  ...needAll("processes", {
    /** Streams of all clusters, and of one, at the same time. */
    controlStreams: count(1, 100_000).default(1000),
    controlStreamsPerCluster: count(1, 1000).default(4),
    /** The longest stream; `responseSeconds` cuts off those that are longer. */
    controlSeconds: count(1, 3600).default(100),
    /** The longest time in which a reader takes nothing. */
    controlIdleSeconds: count(1, 3600).default(20),
  }),
  ...needAll("sockets", serverLimits),
});

/** The limits of a server that takes connections itself. */
export type ServerLimits = Readonly<Pick<z.infer<typeof Limits>, keyof typeof serverLimits>>;
