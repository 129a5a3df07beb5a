import { describe, expect, test } from "vitest";
import { openGateway, putSnapshot, regional } from "../open-gateway.ts";

/** A gateway that answers from one snapshot of west. */
async function openWest(limits = {}) {
  const opened = openGateway({ limits });
  const { gateway, clock } = opened;
  await putSnapshot(gateway, regional("west", "a"), { leaseSeconds: 600 });
  return { ...opened, start: clock.now() };
}

describe("a push that arrived and is not in the answers", () => {
  test("makes them stale after pushDelaySeconds, until it is settled", async () => {
    const { gateway, served, clock, start } = await openWest({ pushDelaySeconds: 7 });
    const settle = gateway.arrived("west");
    clock.stall(7000);
    expect([served(), gateway.everything.status().behindSince]).toEqual(["west:a", undefined]);
    clock.stall(1);
    expect([served(), gateway.everything.status().behindSince]).toEqual(["west:a stale", start]);
    settle(true);
    expect([served(), gateway.everything.status().behindSince]).toEqual(["west:a", undefined]);
  });

  test("counts from the oldest one of all clusters, and each is settled for itself", async () => {
    const { gateway, clock, start } = await openWest();
    const first = gateway.arrived("west");
    clock.stall(1000);
    const second = gateway.arrived("west");
    const other = gateway.arrived("east");
    clock.stall(10_000);
    expect(gateway.everything.status().behindSince).toBe(start);
    second(true);
    expect(gateway.everything.status().behindSince).toBe(start);
    first(true);
    expect(gateway.everything.status().behindSince).toBe(start + 1000);
    other(true);
    expect(gateway.everything.status().behindSince).toBeUndefined();
  });

  test("counts from when it arrived itself, however many of its cluster overlapped before it", async () => {
    const { gateway, served, clock } = await openWest();
    let settle = gateway.arrived("west");
    for (let second = 0; second < 20; second++) {
      clock.stall(1000);
      const next = gateway.arrived("west");
      settle(true);
      settle = next;
      expect(served()).toBe("west:a");
    }
  });

  test("counts on where the gateway could not take it, until the cluster's next push is settled", async () => {
    const { gateway, served, clock, start } = await openWest();
    gateway.arrived("west")(false);
    clock.stall(6000);
    expect([served(), gateway.everything.status().behindSince]).toEqual(["west:a stale", start]);
    gateway.arrived("east")(true);
    expect(served()).toBe("west:a stale");
    gateway.arrived("west")(false);
    expect(gateway.everything.status().behindSince).toBe(start);
    gateway.arrived("west")(true);
    expect(served()).toBe("west:a");
  });

  test("is forgotten a minute after the gateway could not take it, where nobody sends it again", async () => {
    const { gateway, served, clock } = await openWest();
    gateway.arrived("west")(false);
    clock.stall(59_999);
    expect(served()).toBe("west:a stale");
    clock.stall(1);
    expect(served()).toBe("west:a");
  });

  test("of a cluster without a lease counts only while it is in progress", async () => {
    const { gateway, served, clock } = await openWest();
    const settle = gateway.arrived("east");
    clock.stall(6000);
    expect(served()).toBe("west:a stale");
    settle(false);
    expect(served()).toBe("west:a");
  });

  test("that the clock was set back behind does not count", async () => {
    const { gateway, served, clock } = await openWest();
    gateway.arrived("west");
    clock.stall(-3_600_000);
    expect(served()).toBe("west:a");
  });
});
