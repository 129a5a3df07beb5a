/** Bounds on the streams of desired states. */
export interface ControlLimits {
  /** Streams of all clusters at the same time. */
  readonly controlStreams: number;
  /** Streams of one cluster at the same time. */
  readonly controlStreamsPerCluster: number;
  /** Seconds after which a stream ends: its reader resumes, with its credential. */
  readonly controlSeconds: number;
  /** Seconds after which a stream ends whose reader takes nothing. */
  readonly controlIdleSeconds: number;
}

/** What holds where nothing else is configured. A stream ends before `limits.responseSeconds` cuts it off. */
export const DEFAULT_CONTROL_LIMITS: ControlLimits = {
  controlStreams: 1000,
  controlStreamsPerCluster: 4,
  controlSeconds: 100,
  controlIdleSeconds: 20,
};
