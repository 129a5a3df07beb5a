import { describe, expect, test } from "vitest";
import { type ControlledCluster, createControl } from "../../../src/gateway/desired/control.ts";
import type { FeedParts } from "../../../src/gateway/desired/desired-feed.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { exported } from "../../merge/fixtures.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeStages, openGateway, regional } from "../fake-stages.ts";
import { putSnapshot } from "../pushes.ts";

const WEST: Visibility = { clusters: ["west"] };
const SHOP: Visibility = { namespaces: ["shop"] };

function exporting(clusterId: string, ...keys: string[]): ClusterSnapshot {
  const service = exported({ exportedAt: "2026-01-01T00:00:00Z" });
  return {
    ...regional(clusterId, clusterId),
    namespaces: { shop: {}, secret: {} },
    exports: Object.fromEntries(keys.map((key) => [key, service])),
  };
}

test.each([
  [-1, true],
  [0, false],
  [1, false],
])(
  "a gateway that starts %i ms after a lease expired shows what the cluster had, in each scope; live: %s",
  async (after, live) => {
    const { gateway, store, clock, done } = await openGateway();
    await done(putSnapshot(gateway, exporting("west", "shop/web", "secret/db"), { leaseSeconds: 10 }));
    await done(putSnapshot(gateway, exporting("east", "shop/web"), { leaseSeconds: 20 }));
    const later = new FakeClock(clock.now() + 10_000 + after);
    const stages = new FakeStages(later);
    const events: GatewayEvent["event"][] = [];
    const other = await Gateway.open({
      ...{ store, stages, clock: later, scopes: [SHOP] },
      onEvent: ({ event }) => void events.push(event),
    });
    const west = { clusterId: "west", live };
    expect(other.status().clusters[1]).toMatchObject({ ...west, exports: 2 });
    expect(other.within(SHOP).status().clusters[1]).toMatchObject({ ...west, exports: 1 });
    const compiled = live ? ["east", "west"] : ["east"];
    expect(stages.compiled[0]!.map(({ clusterId }) => clusterId)).toEqual(compiled);
    expect(events.includes("lease-expired")).toBe(!live);
  },
);

describe("what a gateway desires in clusters", () => {
  const feeds: FeedParts[] = [];
  const openControlled = (clusters: readonly ControlledCluster[]) => {
    const clock = new FakeClock();
    const control = createControl(clusters);
    const { createFeed } = control;
    const events: GatewayEvent[] = [];
    feeds.length = 0;
    control.createFeed = (parts) => {
      feeds.push(parts);
      return createFeed(parts);
    };
    const opened = Gateway.open({
      ...{ store: createMemoryStore(), stages: new FakeStages(clock), clock, control },
      onEvent: (event) => void events.push(event),
    });
    return { opened, events };
  };

  test("is derived once for all clusters for which the same exists, whatever their view", async () => {
    const { opened, events } = openControlled([
      { clusterId: "a", visibility: {} },
      { clusterId: "b", visibility: { view: "b" } },
      { clusterId: "c", visibility: SHOP },
      { clusterId: "d", visibility: { ...SHOP, view: "d" } },
      { clusterId: "e", visibility: WEST },
    ]);
    const gateway = await opened;
    expect(feeds.map(({ clusters }) => [...clusters])).toEqual([["a", "b"], ["c", "d"], ["e"]]);
    expect(gateway.desiredWithin({ view: "b" })).toBe(gateway.desiredWithin({}));
    expect(gateway.desiredWithin({ namespaces: ["bank"] })).toBeUndefined();
    const error = new Error("cannot be derived");
    feeds[0]!.onError(error);
    expect(events).toContainEqual({ event: "compile-failed", error });
  });

  test("is rejected in a visibility that contradicts itself", async () => {
    const visibility = { view: "east", clusters: ["west"] };
    await expect(openControlled([{ clusterId: "a", visibility }]).opened).rejects.toThrow(RangeError);
  });
});
