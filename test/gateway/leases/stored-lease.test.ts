import { describe, expect, it, vi } from "vitest";
import { CLOCK_JITTER, type Clock, createSteadyClock, unixTime } from "../../../src/gateway/clock.ts";
import { resumed, toStored } from "../../../src/gateway/leases.ts";
import { FakeClock } from "../fake-clock.ts";

const MINUTE = 60_000;

/** A process's clock, whose machine runs since `bootedAt`. */
const clockAt = (now: number, wallOffset: number, uptime: number): Clock => ({
  now: () => now,
  wallOffset: () => wallOffset,
  uptime: () => ({ boot: "one", at: uptime }),
  setTimer: () => () => {},
});

describe("a lease that is stored, and loaded by another process", () => {
  const meta = { generation: 1, pushedAt: 1000, renewedAt: 1000, expiresAt: 1000 + MINUTE };
  const stored = toStored(meta, clockAt(1000, 0, 500));

  it.each([-2, -1, 0, 1, CLOCK_JITTER - 1])(
    "expires at the same Unix time although the machine's uptime says %i ms more",
    (jitter) => {
      const clock = clockAt(11_000, 0, 10_500 + jitter);
      expect(unixTime(clock, resumed(stored, clock).expiresAt)).toBe(meta.expiresAt);
    },
  );

  it("expires at the same Unix time although the machine runs something else between two looks at the clock", () => {
    let now = 11_000;
    const busy = { ...clockAt(11_000, 0, 10_500), now: () => now++ };
    expect(resumed(stored, busy).expiresAt).toBe(meta.expiresAt);
  });

  it("has what the uptime leaves of it where the wall clock was set", () => {
    for (const set of [-3_600_000, 86_400_000]) {
      const clock = clockAt(11_000 + set, 0, 10_500);
      expect(resumed(stored, clock).expiresAt - clock.now()).toBe(MINUTE - 10_000);
    }
  });
});

describe("the clock of a process", () => {
  it("shows an instant as the same Unix time until the wall clock is set", () => {
    const wall = vi.spyOn(Date, "now");
    try {
      wall.mockReturnValue(1_800_000_000_000);
      const clock = createSteadyClock();
      const at = clock.now();
      for (const ahead of [-1, 0, 1, 20]) {
        wall.mockReturnValue(clock.now() + ahead);
        expect(unixTime(clock, at)).toBe(at);
      }
      wall.mockReturnValue(clock.now() + MINUTE);
      expect(Math.abs(unixTime(clock, at) - at - MINUTE)).toBeLessThan(CLOCK_JITTER);
    } finally {
      wall.mockRestore();
    }
  });
});

it("a cluster that goes on was pushed as long before its last renewal as it was stored", () => {
  const stored = { generation: 1, pushedAt: 1000, renewedAt: 5000, expiresAt: 65_000 };
  expect(resumed(stored, new FakeClock(10_000))).toEqual(stored);
  // The wall clock was set back: the lease begins anew.
  expect(resumed(stored, new FakeClock(3000))).toEqual({
    generation: 1,
    pushedAt: -1000,
    renewedAt: 3000,
    expiresAt: 63_000,
  });
  expect(resumed({ ...stored, pushedAt: 6000 }, new FakeClock(10_000)).pushedAt).toBe(5000);
});
