import { describe, expect, it } from "vitest";
import { leasedAt, renewed, reportChange } from "../../../src/gateway/leases/lease-terms.ts";
import { LeaseTimer } from "../../../src/gateway/leases/lease-timer.ts";
import { FakeClock } from "../fake-clock.ts";

function open() {
  const clock = new FakeClock(1_000_000);
  const calls: number[] = [];
  const timer = new LeaseTimer(clock, () => void calls.push(clock.now()));
  return { clock, calls, timer };
}

describe("a lease timer", () => {
  it("calls at the time of the next lease, once", async () => {
    const { clock, calls, timer } = open();
    timer.watch(1_005_000);
    await clock.advance(4999);
    expect(calls).toEqual([]);
    await clock.advance(10_000);
    expect(calls).toEqual([1_005_000]);
    timer.watch(1_020_000);
    await clock.advance(10_000);
    expect(calls).toEqual([1_005_000, 1_020_000]);
  });

  it("calls for the earliest of those that it watches, and has one timer", async () => {
    const { clock, calls, timer } = open();
    for (const at of [1_009_000, 1_007_000, 1_008_000, 1_007_000]) timer.watch(at);
    expect(clock.timers).toBe(1);
    await clock.advance(20_000);
    expect(calls).toEqual([1_007_000]);
  });

  it("calls at once for a lease that has expired", async () => {
    const { clock, calls, timer } = open();
    timer.watch(0);
    await clock.advance(0);
    expect(calls).toEqual([1_000_000]);
  });

  it("calls early where timers take no such delay (HTML, timer initialization steps)", async () => {
    const delays: number[] = [];
    const clock = new FakeClock(0);
    const watched = {
      now: () => clock.now(),
      nextTurn: () => {},
      setTimer: (delay: number) => {
        delays.push(delay);
        return () => {};
      },
    };
    new LeaseTimer(watched, () => {}).watch(2 ** 40);
    new LeaseTimer(watched, () => {}).watch(2 ** 31 - 1);
    expect(delays).toEqual([2 ** 31 - 1, 2 ** 31 - 1]);
  });

  it("has no timer where no lease expires, nor once it is stopped", async () => {
    const { clock, calls, timer } = open();
    timer.watch(Number.POSITIVE_INFINITY);
    expect(clock.timers).toBe(0);
    timer.stop();
    timer.watch(1_001_000);
    timer.stop();
    expect(clock.timers).toBe(0);
    timer.watch(1_002_000);
    await clock.advance(5000);
    expect(calls).toEqual([1_002_000]);
  });
});

describe("the meta of a cluster", () => {
  const UNREACHABLE = { reason: "API_UNREACHABLE", seconds: 30 } as const;
  const META = { generation: 3, pushedAt: 100, renewedAt: 200, expiresAt: 300 };

  it("has the lease and the report of the last request", () => {
    expect(leasedAt(50_000, { lease: 60_000, degraded: [] })).toEqual({
      renewedAt: 50_000,
      expiresAt: 110_000,
    });
    const degraded = [{ reason: "API_UNREACHABLE", since: 20_000 }];
    expect(renewed({ ...META, degraded }, 50_000, { lease: 1000, degraded: [UNREACHABLE] })).toEqual({
      ...{ generation: 3, pushedAt: 100, renewedAt: 50_000, expiresAt: 51_000 },
      degraded: [{ reason: "API_UNREACHABLE", since: 20_000 }],
    });
    expect(renewed({ ...META, degraded }, 50_000, { lease: 1000, degraded: [] })).not.toHaveProperty(
      "degraded",
    );
  });

  it("is logged where its report says something new", () => {
    const degraded = { ...META, degraded: [{ reason: "API_UNREACHABLE" as const, since: 1 }] };
    const longer = { ...META, degraded: [{ reason: "API_UNREACHABLE" as const, since: 2 }] };
    expect(reportChange("west", META, META)).toBeUndefined();
    expect(reportChange("west", degraded, longer)).toBeUndefined();
    expect(reportChange("west", META, degraded)).toEqual({
      ...{ event: "worker-degraded", clusterId: "west", degraded: [{ reason: "API_UNREACHABLE" }] },
    });
    expect(reportChange("west", degraded, META)).toEqual({ event: "worker-recovered", clusterId: "west" });
  });
});
