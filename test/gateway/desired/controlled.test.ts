import { describe, expect, test } from "vitest";
import { type ControlledCluster, createControl } from "../../../src/gateway/desired/control.ts";
import type { FeedParts } from "../../../src/gateway/desired/desired-feed.ts";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import { FakeClock } from "../fake-clock.ts";
import { openKeyed } from "../open-keyed.ts";

const WEST: Visibility = { clusters: ["west"] };
const SHOP: Visibility = { namespaces: ["shop"] };

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
    const gateway = openKeyed({ clock, control, onEvent: (event) => void events.push(event) });
    return { gateway, events };
  };

  test("is derived once for all clusters for which the same exists, whatever their view", () => {
    const { gateway, events } = openControlled([
      { clusterId: "a", visibility: {} },
      { clusterId: "b", visibility: { view: "b" } },
      { clusterId: "c", visibility: SHOP },
      { clusterId: "d", visibility: { ...SHOP, view: "d" } },
      { clusterId: "e", visibility: WEST },
    ]);
    expect(feeds.map(({ clusters }) => [...clusters])).toEqual([["a", "b"], ["c", "d"], ["e"]]);
    expect(gateway.desiredWithin({ view: "b" })).toBe(gateway.desiredWithin({}));
    expect(gateway.desiredWithin({ namespaces: ["bank"] })).toBeUndefined();
    const error = new Error("cannot be derived");
    feeds[0]!.onError(error);
    expect(events).toContainEqual({ event: "desired-failed", error });
  });

  test("is rejected in a visibility that contradicts itself", () => {
    const visibility = { view: "east", clusters: ["west"] };
    expect(() => openControlled([{ clusterId: "a", visibility }])).toThrow(RangeError);
  });
});
