/**
 * The limits whose effects are counted, by their keys in the configuration, so that clients cannot add
 * series. A burst counts with its rate. `http2` are the limits of Node.js itself on frames.
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

/** How often each key was counted. The metrics exporter reads it on demand. */
export class Tally<Key> extends Map<Key, number> {
  /** @param known keys that are there although they were never counted */
  constructor(known: readonly Key[] = []) {
    super(known.map((key) => [key, 0]));
  }

  hit(key: Key, times = 1): void {
    this.set(key, (this.get(key) ?? 0) + times);
  }
}

/** How often each limit rejected, cut off or closed something. */
export class LimitCounters extends Tally<Limit> {
  constructor() {
    super(LIMITS);
  }
}

/** The object that reported an error: the label `source` of `clusterset_doh_connection_errors_total`. */
const ERROR_SOURCES = ["tcp", "tls", "http1", "http2", "dns_udp", "dns_tcp", "dot", "server"] as const;

type ErrorSource = (typeof ERROR_SOURCES)[number];

/** Counts the errors of connections. An error ends only its connection. */
export class ConnectionErrors {
  /** Listeners for `error` events, one for each source: adding one costs no closure. */
  readonly listeners: Readonly<Record<ErrorSource, (error: Error) => void>>;
  readonly counts = new Tally(ERROR_SOURCES);

  /** @param log called for every error. Default: errors are only counted */
  constructor(log: (source: ErrorSource, error: Error) => void = () => {}) {
    const listeners = ERROR_SOURCES.map((source) => [
      source,
      (error: Error) => {
        this.counts.hit(source);
        log(source, error);
      },
    ]);
    this.listeners = Object.fromEntries(listeners);
  }
}
