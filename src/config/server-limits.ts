import * as z from "zod";

/** Bounds on what strangers may take. Times in milliseconds. */
export interface ServerLimits {
  readonly connections: number;
  readonly streamsPerConnection: number;
  /** Streams of a connection that end by a reset: at once, and in the long run. */
  readonly streamResets: number;
  readonly streamResetsPerSecond: number;
  /** Requests that have begun and whose responses have not been taken. */
  readonly requestsInFlight: number;
  /** How late timers may be in the median before work that can wait is refused; 0 for however late. */
  readonly loopDelay: number;
  readonly headerBytes: number;
  readonly headerFields: number;
  readonly handshakeTimeout: number;
  readonly requestTimeout: number;
  readonly responseTimeout: number;
  readonly idleTimeout: number;
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  connections: 10_000,
  streamsPerConnection: 128,
  streamResets: 500,
  streamResetsPerSecond: 33,
  requestsInFlight: 20_000,
  loopDelay: 200,
  headerBytes: 24_576,
  headerFields: 64,
  handshakeTimeout: 10_000,
  requestTimeout: 20_000,
  responseTimeout: 120_000,
  idleTimeout: 120_000,
};

const seconds = (least: number, most: number) => z.int().min(least).max(most);
const count = (least: number, most: number) => z.int().min(least).max(most);
const inSeconds = (milliseconds: number) => milliseconds / 1000;
const DEFAULTS = DEFAULT_SERVER_LIMITS;

/** The keys of `limits` on hosts that take connections themselves. */
export const serverLimits = {
  connections: count(1, 1_000_000).default(DEFAULTS.connections),
  streamsPerConnection: count(1, 10_000).default(DEFAULTS.streamsPerConnection),
  streamResets: count(1, 1_000_000).default(DEFAULTS.streamResets),
  streamResetsPerSecond: count(1, 1_000_000).default(DEFAULTS.streamResetsPerSecond),
  requestsInFlight: count(1, 10_000_000).default(DEFAULTS.requestsInFlight),
  loopDelayMilliseconds: count(0, 60_000).default(DEFAULTS.loopDelay),
  headerBytes: count(4096, 1_048_576).default(DEFAULTS.headerBytes),
  headerFields: count(16, 2000).default(DEFAULTS.headerFields),
  handshakeSeconds: seconds(1, 600).default(inSeconds(DEFAULTS.handshakeTimeout)),
  requestSeconds: seconds(1, 3600).default(inSeconds(DEFAULTS.requestTimeout)),
  responseSeconds: seconds(1, 3600).default(inSeconds(DEFAULTS.responseTimeout)),
  idleSeconds: seconds(1, 86_400).default(inSeconds(DEFAULTS.idleTimeout)),
};

const Keys = z.object(serverLimits);

/** The bounds as servers take them. */
export function serverLimitsOf(limits: z.infer<typeof Keys>): ServerLimits {
  return {
    connections: limits.connections,
    streamsPerConnection: limits.streamsPerConnection,
    streamResets: limits.streamResets,
    streamResetsPerSecond: limits.streamResetsPerSecond,
    requestsInFlight: limits.requestsInFlight,
    loopDelay: limits.loopDelayMilliseconds,
    headerBytes: limits.headerBytes,
    headerFields: limits.headerFields,
    handshakeTimeout: limits.handshakeSeconds * 1000,
    requestTimeout: limits.requestSeconds * 1000,
    responseTimeout: limits.responseSeconds * 1000,
    idleTimeout: limits.idleSeconds * 1000,
  };
}
