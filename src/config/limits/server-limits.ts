import * as z from "zod";

const seconds = (least: number, most: number) => z.int().min(least).max(most);
const count = (least: number, most: number) => z.int().min(least).max(most);

/** The keys of `limits` on hosts that take connections themselves. */
export const serverLimits = {
  connections: count(1, 1_000_000).default(10_000),
  streamsPerConnection: count(1, 10_000).default(128),
  /** Streams of a connection that end by a reset: at once, and in the long run. */
  streamResets: count(1, 1_000_000).default(500),
  streamResetsPerSecond: count(1, 1_000_000).default(33),
  /** Requests that have begun and whose responses have not been taken. */
  requestsInFlight: count(1, 10_000_000).default(20_000),
  /** How late timers may be in the median before work that can wait is rejected; 0 for however late. */
  loopDelayMilliseconds: count(0, 60_000).default(200),
  headerBytes: count(4096, 1_048_576).default(24_576),
  headerFields: count(16, 2000).default(64),
  handshakeSeconds: seconds(1, 600).default(10),
  requestSeconds: seconds(1, 3600).default(20),
  responseSeconds: seconds(1, 3600).default(120),
  idleSeconds: seconds(1, 86_400).default(120),
};

const ServerLimits = z.object(serverLimits);

/** Bounds on what strangers may take, by the names of their keys. */
export type ServerLimits = Readonly<z.infer<typeof ServerLimits>>;

export const DEFAULT_SERVER_LIMITS: ServerLimits = ServerLimits.parse({});
