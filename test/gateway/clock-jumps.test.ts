import { describe, expect, test, vi } from "vitest";
import {
  CLOCK_JITTER,
  type Clock,
  createSteadyClock,
  type Uptime,
  unixTime,
} from "../../src/gateway/clock.ts";
import { LeaseTimer, resumed, toStored } from "../../src/gateway/leases.ts";
import { FakeClock } from "./fake-clock.ts";
import { openGateway, putSnapshot, regional } from "./open-gateway.ts";
import { memoryDatabase } from "./open-keyed.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The clock of a process whose machine's wall clock can be set. */
class MachineClock extends FakeClock {
  /** How far the wall clock is ahead. */
  ahead = 0;
  boot: string | undefined = "first";
  wallOffset = () => this.ahead;
  uptime = (): Uptime | undefined =>
    this.boot === undefined ? undefined : { boot: this.boot, at: this.now() };
}

describe("while a gateway runs", () => {
  test.for([-HOUR, DAY])(
    "a wall clock that is set by %s ms ends no lease, and prolongs none",
    async (jump) => {
      const clock = new MachineClock(DAY);
      const { gateway, served } = openGateway({ clock });
      await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 });
      await putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 });
      clock.ahead = jump;
      await clock.advance(9_999);
      expect(served()).toBe("east:e west:w");
      await clock.advance(1);
      expect(served()).toBe("east:e");
      clock.ahead = 0;
      await clock.advance(0);
      expect(served()).toBe("east:e");
    },
  );

  test("the answer to a worker has the wall clock's time", async () => {
    const clock = new MachineClock(DAY);
    const { gateway } = openGateway({ clock });
    clock.ahead = HOUR;
    const lease = { leaseSeconds: 100 };
    const { generation, expiresAt } = await putSnapshot(gateway, regional("east", "e"), lease);
    expect(expiresAt).toBe(DAY + HOUR + 100_000);
    clock.ahead = 2 * HOUR;
    const renewed = await gateway.renew("east", generation, lease);
    expect(renewed.expiresAt).toBe(DAY + 2 * HOUR + 100_000);
    expect(gateway.unixTime(gateway.everything.status().clusters[0]!.expiresAt)).toBe(renewed.expiresAt);
  });
});

describe("when a gateway is started again 20 s after a lease of 60 s was given", () => {
  const restarted = async (jump: number, boot: string | undefined, since = 20_000) => {
    const database = memoryDatabase();
    const before = openGateway({ database, clock: new MachineClock(DAY) });
    const { generation } = await putSnapshot(before.gateway, regional("east", "e"), { leaseSeconds: 60 });
    // Another process: its own clock begins with the wall clock, its machine's uptime goes on unless that was
    // started again.
    const clock = new MachineClock(DAY + since + jump);
    if (boot === "first") clock.uptime = () => ({ boot, at: clock.now() - jump });
    clock.boot = boot;
    return { ...openGateway({ database, clock }), clock, generation };
  };

  test.for([
    { jump: 0, boot: "first", left: 40_000 },
    { jump: -HOUR, boot: "first", left: 40_000 },
    { jump: DAY, boot: "first", left: 40_000 },
    { jump: 0, boot: "second", left: 40_000 },
    { jump: -HOUR, boot: "second", left: 60_000 },
    { jump: -HOUR, boot: undefined, left: 60_000 },
  ])(
    "with a wall clock set by $jump ms, in the machine's boot $boot, it has $left ms left",
    async (given) => {
      const { served, clock, gateway, generation } = await restarted(given.jump, given.boot);
      expect(served()).toBe("east:e");
      await clock.advance(given.left - 1);
      expect(served()).toBe("east:e");
      await clock.advance(1);
      expect(served()).toBe("SERVFAIL");
      await gateway.renew("east", generation, { leaseSeconds: 10 });
      expect(served()).toBe("east:e");
    },
  );

  test("a cluster that renewed nothing while the gateway was down for longer is not brought to life", async () => {
    for (const boot of ["first", "second"]) {
      const { served } = await restarted(0, boot, 60_000);
      expect(served()).toBe("SERVFAIL");
    }
    expect((await restarted(-HOUR, "first", 60_000)).served()).toBe("SERVFAIL");
  });

  test("its generation grows, whatever the wall clock shows", async () => {
    const { gateway, generation } = await restarted(-DAY / 2, "second");
    const next = await putSnapshot(gateway, regional("east", "f"));
    expect(next.generation).toBeGreaterThan(generation);
  });
});

test("a lease that is longer than a timer may be is not looked at again and again", () => {
  const setTimer = vi.fn((_milliseconds: number) => () => {});
  new LeaseTimer({ now: () => 0, setTimer }, () => {}).watch(40 * DAY);
  expect(setTimer.mock.calls.map(([milliseconds]) => milliseconds)).toEqual([2 ** 31 - 1]);
});

describe("a lease that is stored, and loaded by another process", () => {
  /** A process's clock, whose machine has run for so long. */
  const clockAt = (now: number, uptime: number): Clock => ({
    now: () => now,
    uptime: () => ({ boot: "one", at: uptime }),
    setTimer: () => () => {},
  });
  const meta = { generation: 1, pushedAt: 1000, renewedAt: 1000, expiresAt: 61_000 };
  const stored = toStored(meta, clockAt(1000, 500));

  test.each([-2, -1, 0, 1, CLOCK_JITTER - 1])(
    "expires at the same Unix time although the machine's uptime says %i ms more",
    (jitter) => {
      const clock = clockAt(11_000, 10_500 + jitter);
      expect(unixTime(clock, resumed(stored, clock).expiresAt)).toBe(meta.expiresAt);
    },
  );

  test("expires at the same Unix time although the machine runs something else between two looks at the clock", () => {
    let now = 11_000;
    const busy = { ...clockAt(11_000, 10_500), now: () => now++ };
    expect(resumed(stored, busy).expiresAt).toBe(meta.expiresAt);
  });

  test("was pushed as long before its last renewal as it was stored", () => {
    const held = { ...meta, renewedAt: 5000, expiresAt: 65_000 };
    expect(resumed(held, new FakeClock(10_000))).toEqual(held);
    // The wall clock was set back: the lease begins anew.
    const anew = { generation: 1, pushedAt: -1000, renewedAt: 3000, expiresAt: 63_000 };
    expect(resumed(held, new FakeClock(3000))).toEqual(anew);
    expect(resumed({ ...held, pushedAt: 6000 }, new FakeClock(10_000)).pushedAt).toBe(5000);
  });
});

test("the clock of a process shows an instant as the same Unix time until the wall clock is set", () => {
  const wall = vi.spyOn(Date, "now").mockReturnValue(1_800_000_000_000);
  try {
    const clock = createSteadyClock();
    const at = clock.now();
    for (const ahead of [-1, 0, 1, 20]) {
      wall.mockReturnValue(clock.now() + ahead);
      expect(unixTime(clock, at)).toBe(at);
    }
    wall.mockReturnValue(clock.now() + 60_000);
    expect(Math.abs(unixTime(clock, at) - at - 60_000)).toBeLessThan(CLOCK_JITTER);
  } finally {
    wall.mockRestore();
  }
});
