/** Bounds on one body. */
export interface BodyLimits {
  /** Bytes of a body as it is sent, compressed or not. */
  readonly pushSentBytes: number;
  /** Bytes of a body after decompression; and of all bodies of one cluster that are read at the same time. */
  readonly pushBytes: number;
  /** How many bytes one sent byte may become; checked from 1 MiB on. */
  readonly pushRatio: number;
  /** How deeply the JSON of a line may be nested. */
  readonly pushLevels: number;
  /** Members and elements of a body: the time to read it and the memory that it takes go by them. */
  readonly pushValues: number;
  /** Seconds without a byte after which the gateway gives a body up. */
  readonly pushIdleSeconds: number;
  /** Seconds until a whole body must have arrived. */
  readonly pushSeconds: number;
}

/** Bounds on the requests of the push API. */
export interface PushLimits extends BodyLimits {
  /** Members and elements that one cluster may send each second in the long run; at once it may send two bodies of the greatest size. */
  readonly pushValuesPerSecond: number;
  /** Bytes of all bodies together that are read at the same time. */
  readonly pushBytesInFlight: number;
  /** The first bytes of each body, which do not count as `pushBytesInFlight`: a body of this size never waits for another cluster. */
  readonly pushSmallBytes: number;
  /** Snapshots and deltas of one cluster at the same time. */
  readonly pushesInFlight: number;
  /** Requests of one cluster each second in the long run, renewals included, and at once. */
  readonly pushesPerSecond: number;
  readonly pushBurst: number;
}
