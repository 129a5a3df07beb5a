/** Bounds on what strangers may take. Times in milliseconds. */
export interface ServerLimits {
  readonly connections: number;
  readonly streamsPerConnection: number;
  readonly headerBytes: number;
  readonly handshakeTimeout: number;
  readonly requestTimeout: number;
  readonly idleTimeout: number;
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  connections: 10_000,
  streamsPerConnection: 128,
  headerBytes: 16_384,
  handshakeTimeout: 10_000,
  requestTimeout: 20_000,
  idleTimeout: 120_000,
};
