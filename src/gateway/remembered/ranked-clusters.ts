import type { Remembered } from "../../merge/index/service-index.ts";

/** The order in which clusters first reported what they share (KEP-1645: the oldest wins), and the push of each since which it is known. */
export interface RankedClusters extends Remembered {
  /** The push of a cluster that last changed one of the two; 0 for none. */
  rankedSince(clusterId: string): number;
  /** Whether what was remembered of a cluster was lost before this start: what is remembered now is something else. */
  isLost(clusterId: string): boolean;
}
