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
