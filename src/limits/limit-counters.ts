/**
 * The limits that are counted when they act, by their keys in the configuration, so that nobody can add series. Bursts and the like count with
 * what they belong to. `http2` are the bounds that Node.js itself has on frames.
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

/** Counts how often each limit acted. Whoever exports metrics reads it when asked. */
export class LimitCounters {
  readonly #counts = new Map<Limit, number>(LIMITS.map((limit) => [limit, 0]));

  /** Counts that a limit acted: something was refused, cut off or closed because of it. */
  hit(limit: Limit): void {
    this.#counts.set(limit, this.#counts.get(limit)! + 1);
  }

  /** Every limit, those that never acted too. */
  counts(): ReadonlyMap<Limit, number> {
    return this.#counts;
  }
}
