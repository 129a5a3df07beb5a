/**
 * The limits whose effects are counted, by their keys in the configuration, so that clients cannot add series. A burst counts with
 * its rate. `http2` are the limits of Node.js itself on frames.
 */
export const LIMITS = [
  "clients.requestsPerSecond",
  "clients.connections",
  "clients.connectionsPerSecond",
  "limits.queryBytes",
  "limits.headerBytes",
  "limits.headerFields",
  "limits.connections",
  "limits.streamsPerConnection",
  "limits.streamResets",
  "limits.requestsInFlight",
  "limits.loopDelayMilliseconds",
  "limits.handshakeSeconds",
  "limits.requestSeconds",
  "limits.responseSeconds",
  "limits.idleSeconds",
  "limits.clusters",
  "limits.snapshotCharacters",
  "limits.namespaces",
  "limits.exports",
  "limits.imports",
  "limits.services",
  "limits.pods",
  "limits.endpoints",
  "limits.endpointsPerService",
  "limits.ports",
  "limits.findings",
  "limits.metadataCharacters",
  "limits.pushSentBytes",
  "limits.pushBytes",
  "limits.pushRatio",
  "limits.pushLevels",
  "limits.pushValues",
  "limits.pushValuesPerSecond",
  "limits.pushBytesInFlight",
  "limits.pushIdleSeconds",
  "limits.pushSeconds",
  "limits.pushesInFlight",
  "limits.pushesPerSecond",
  "limits.controlStreams",
  "limits.controlStreamsPerCluster",
  "limits.controlIdleSeconds",
  "dns.connections",
  "dns.connectionsPerClient",
  "dns.queriesPerConnection",
  "dns.idleSeconds",
  "dot.connections",
  "dot.connectionsPerClient",
  "dot.queriesPerConnection",
  "dot.idleSeconds",
  "stub.federations",
  "audit.linesPerSecond",
  "http2",
] as const;

export type Limit = (typeof LIMITS)[number];

/** Counts how often each limit acted. The metrics exporter reads it on demand. */
export class LimitCounters {
  readonly #counts = new Map<Limit, number>(LIMITS.map((limit) => [limit, 0]));

  /** Counts that a limit rejected, cut off or closed something. */
  hit(limit: Limit): void {
    this.#counts.set(limit, this.#counts.get(limit)! + 1);
  }

  /** Every limit, also those that never acted. */
  counts(): ReadonlyMap<Limit, number> {
    return this.#counts;
  }
}

/** The object that reported an error: the label `source` of `clusterset_doh_connection_errors_total`. */
const ERROR_SOURCES = ["tcp", "tls", "http1", "http2", "dns_udp", "dns_tcp", "dot", "server"] as const;

type ErrorSource = (typeof ERROR_SOURCES)[number];

/** Counts the errors of connections. An error ends only its connection. */
export class ConnectionErrors {
  /** Listeners for `error` events, one for each source: adding one costs no closure. */
  readonly listeners: Readonly<Record<ErrorSource, (error: Error) => void>>;
  readonly #counts = new Map<ErrorSource, number>(ERROR_SOURCES.map((source) => [source, 0]));
  readonly #log: (source: ErrorSource, error: Error) => void;

  /** @param log called for every error. Default: errors are only counted */
  constructor(log: (source: ErrorSource, error: Error) => void = () => {}) {
    this.#log = log;
    const listeners = ERROR_SOURCES.map((source) => [source, (error: Error) => this.#seen(source, error)]);
    this.listeners = Object.fromEntries(listeners);
  }

  /** Every source, also those without an error. */
  counts(): ReadonlyMap<ErrorSource, number> {
    return this.#counts;
  }

  #seen(source: ErrorSource, error: Error): void {
    this.#counts.set(source, this.#counts.get(source)! + 1);
    this.#log(source, error);
  }
}
