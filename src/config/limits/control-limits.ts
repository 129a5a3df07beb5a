import { DEFAULT_CONTROL_LIMITS as DEFAULTS } from "../../http/push/desired.ts";
import { count } from "../values.ts";

/** The keys of `limits` for streams of desired states. */
export const controlLimits = {
  /** Streams of all clusters, and of one, at the same time. */
  controlStreams: count(1, 100_000).default(DEFAULTS.controlStreams),
  controlStreamsPerCluster: count(1, 1000).default(DEFAULTS.controlStreamsPerCluster),
  /** The longest stream; `responseSeconds` cuts off those that are longer. */
  controlSeconds: count(1, 3600).default(DEFAULTS.controlSeconds),
  /** The longest time in which a reader takes nothing. */
  controlIdleSeconds: count(1, 3600).default(DEFAULTS.controlIdleSeconds),
};
