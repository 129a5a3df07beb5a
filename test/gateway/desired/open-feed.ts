import { DesiredFeed } from "../../../src/gateway/desired/desired-feed.ts";
import { MergedServices } from "../../../src/merge/index/merged-services.ts";
import { ServiceIndex } from "../../../src/merge/index/service-index.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import { DesiredLine } from "../../../src/snapshot/desired/desired-line.ts";
import { heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { aboutLine } from "./about-line.ts";

/** A feed of the clusters "a" and "b" over a real index. Nothing reaches the feed's lines before `update`. */
export function openFeed(visibility: Visibility = {}) {
  const index = new ServiceIndex();
  const services = new MergedServices(index, visibility);
  const leases = new Map<string, number>();
  const errors: unknown[] = [];
  const failing = new Set<string>();
  const feed = new DesiredFeed({
    ...{ index, services, clusters: new Set(["a", "b"]) },
    reachOf: (clusterId) => {
      if (failing.has(clusterId)) throw new Error(`cannot derive ${clusterId}`);
      return "pods";
    },
    expiresAt: (clusterId) => leases.get(clusterId),
    onError: (error) => errors.push(error),
  });
  /** @returns the steps that the feed took */
  const update = () => {
    for (const _ of services.settle());
    return [...feed.update()].length;
  };
  const join = (...snapshots: readonly ClusterSnapshot[]) => {
    for (const one of snapshots) for (const _ of index.join(one.clusterId, heldSnapshot(one)));
  };
  const leave = (clusterId: string) => {
    for (const _ of index.leave(clusterId));
  };
  /** What the lines of a new stream, or the next lines of an open one, are about. */
  const read = (cursor: ReturnType<typeof feed.open> = feed.open("a", undefined)) =>
    cursor
      .read(1e9)
      .text.split("\n")
      .slice(0, -1)
      .map((text) => aboutLine(DesiredLine.parse(JSON.parse(text))));
  return { feed, leases, errors, failing, update, join, leave, read };
}
