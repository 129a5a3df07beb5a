import { DesiredFeed } from "../../../src/gateway/desired.ts";
import type { Visibility } from "../../../src/merge/visibility.ts";
import { KeyWorld } from "../../../src/names/key-world.ts";
import { DesiredLine } from "../../../src/snapshot/desired-line.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { finish } from "../../../src/zone/steps.ts";
import { entriesOf } from "../../names/entries-of.ts";
import { keysOf } from "../../names/keys-of.ts";
import { aboutLine } from "./about-line.ts";

/** A feed of the clusters "a" and "b" over snapshots. */
export function openFeed(visibility: Visibility = {}) {
  const snapshots = new Map<string, ClusterSnapshot>();
  const leases = new Map<string, number>();
  const errors: unknown[] = [];
  const failing = new Set<string>();
  /** Exporters of services that were derived. */
  const derived: string[] = [];
  const feed = new DesiredFeed({
    world: () => new KeyWorld(entriesOf([...snapshots.values()], visibility), {}, {}, new Map()),
    clusters: new Set(["a", "b"]),
    reachOf: (clusterId) => {
      if (failing.has(clusterId)) throw new Error(`cannot derive ${clusterId}`);
      derived.push(clusterId);
      return "pods";
    },
    expiresAt: (clusterId) => leases.get(clusterId),
    onError: (error) => errors.push(error),
  });
  const join = (...joining: readonly ClusterSnapshot[]) => {
    for (const one of joining) {
      const before = snapshots.get(one.clusterId);
      snapshots.set(one.clusterId, one);
      if (before === undefined) feed.clusterChanged(one.clusterId);
      else feed.changed(one.clusterId, [...new Set([...keysOf(before), ...keysOf(one)])]);
    }
  };
  const leave = (clusterId: string) => {
    const keys = keysOf(snapshots.get(clusterId)!);
    snapshots.delete(clusterId);
    feed.changed(clusterId, keys);
    feed.clusterChanged(clusterId);
  };
  /** What the lines of a new stream, or the next lines of an open one, are about. */
  const read = (cursor: ReturnType<typeof feed.open> = feed.open("a", undefined)) =>
    finish(cursor.read(1e9, () => false))
      .text.split("\n")
      .slice(0, -1)
      .map((text) => aboutLine(DesiredLine.parse(JSON.parse(text))));
  return { feed, leases, errors, failing, derived, join, leave, read };
}
