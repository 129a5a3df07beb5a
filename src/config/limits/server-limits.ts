import * as z from "zod";
import { count, seconds } from "../values.ts";

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
