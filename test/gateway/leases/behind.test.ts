import { describe, expect, test } from "vitest";
import { openGateway, regional } from "../fake-stages.ts";
import { patchCluster, putSnapshot } from "../pushes.ts";

/** A gateway that answers from one snapshot of west. */
async function openWest(limits = {}) {
  const opened = await openGateway({ limits });
  const { gateway, done, clock } = opened;
  const { generation } = await done(putSnapshot(gateway, regional("west", "a"), { leaseSeconds: 600 }));
  return { ...opened, generation, start: clock.now() };
}

describe("a push that arrived and is not in the answers", () => {
  test("makes them stale after pushDelaySeconds, until it is settled", async () => {
    const { gateway, served, clock, start } = await openWest({ pushDelaySeconds: 7 });
    const settle = gateway.arrived("west");
    clock.stall(7000);
    expect([served(), gateway.status().behindSince]).toEqual(["west:a", undefined]);
    clock.stall(1);
    expect([served(), gateway.status().behindSince]).toEqual(["west:a stale", start]);
    settle(true);
    expect([served(), gateway.status().behindSince]).toEqual(["west:a", undefined]);
  });

  test("counts from the oldest one of all clusters, and each is settled for itself", async () => {
    const { gateway, clock, start } = await openWest();
    const first = gateway.arrived("west");
    clock.stall(1000);
    const second = gateway.arrived("west");
    const other = gateway.arrived("east");
    clock.stall(10_000);
    expect(gateway.status().behindSince).toBe(start);
    second(true);
    expect(gateway.status().behindSince).toBe(start);
    first(true);
    expect(gateway.status().behindSince).toBe(start + 1000);
    other(true);
    expect(gateway.status().behindSince).toBeUndefined();
  });

  test("counts on where the gateway could not take it, until the cluster's next push is settled", async () => {
    const { gateway, served, clock, start } = await openWest();
    gateway.arrived("west")(false);
    clock.stall(6000);
    expect([served(), gateway.status().behindSince]).toEqual(["west:a stale", start]);
    gateway.arrived("east")(true);
    expect(served()).toBe("west:a stale");
    gateway.arrived("west")(false);
    expect(gateway.status().behindSince).toBe(start);
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

test("answers are stale while what was pushed cannot be compiled, and no longer once it can", async () => {
  const { gateway, served, stages, clock, done, generation } = await openWest();
  stages.fails = new Error("too many names");
  const failedAt = clock.now();
  const acknowledged = await done(
    patchCluster(gateway, "west", generation, { topology: { region: "b" } }, { leaseSeconds: 600 }),
  );
  expect(served()).toBe("west:a");
  clock.stall(5001);
  expect([served(), gateway.status().behindSince]).toEqual(["west:a stale", failedAt]);
  stages.fails = undefined;
  await done(
    patchCluster(
      gateway,
      "west",
      acknowledged.generation,
      { topology: { region: "c" } },
      { leaseSeconds: 600 },
    ),
  );
  expect([served(), gateway.status().behindSince]).toEqual(["west:c", undefined]);
});

test("answers are stale since the older of what waits and what cannot be compiled, after more than the delay", async () => {
  const { gateway, served, stages, clock, done, generation } = await openWest({ pushDelaySeconds: 7 });
  stages.fails = new Error("too many names");
  const failedAt = clock.now();
  await done(patchCluster(gateway, "west", generation, { topology: { region: "b" } }, { leaseSeconds: 600 }));
  clock.stall(7000);
  expect([served(), gateway.status().behindSince]).toEqual(["west:a", undefined]);
  clock.stall(1);
  gateway.arrived("west");
  clock.stall(7001);
  expect(gateway.status().behindSince).toBe(failedAt);
});

test("what waits longer than what cannot be compiled is what makes answers stale", async () => {
  const { gateway, stages, clock, done, generation, start } = await openWest({ pushDelaySeconds: 7 });
  gateway.arrived("east");
  clock.stall(3000);
  stages.fails = new Error("too many names");
  await done(patchCluster(gateway, "west", generation, { topology: { region: "b" } }, { leaseSeconds: 600 }));
  clock.stall(8000);
  expect(gateway.status().behindSince).toBe(start);
});
