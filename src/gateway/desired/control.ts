import type { Reach } from "../../desired/desired-service.ts";
import type { Visibility } from "../../merge/visibility/visibility.ts";
import { DesiredFeed, type FeedParts } from "./desired-feed.ts";

/** A cluster that may read its desired state. */
export interface ControlledCluster {
  readonly clusterId: string;
  /** What exists for it. */
  readonly visibility: Visibility;
}

/** The control plane of a gateway. Hosts that serve none do not pass it, and do not load its code. */
export interface Control {
  readonly clusters: readonly ControlledCluster[];
  /** By which addresses other clusters reach the endpoints of one. */
  readonly reachOf: (clusterId: string) => Reach;
  createFeed(parts: FeedParts): DesiredFeed;
  /** Ends all streams, such as when the gateway stops, and each that begins later. */
  close(): void;
}

/** The control plane for some clusters. @param reach how others reach their endpoints, by cluster id. Default: by the addresses of pods */
export function createControl(
  clusters: readonly ControlledCluster[],
  reach: ReadonlyMap<string, Reach> = new Map(),
): Control {
  const feeds: DesiredFeed[] = [];
  return {
    clusters,
    reachOf: (clusterId) => reach.get(clusterId) ?? "pods",
    createFeed: (parts) => {
      const feed = new DesiredFeed(parts);
      feeds.push(feed);
      return feed;
    },
    close: () => {
      for (const feed of feeds) feed.close();
    },
  };
}
