import { describe, expect, test } from "vitest";
import type { Clock, Uptime } from "../../../src/gateway/clock.ts";
import { LeaseTimer } from "../../../src/gateway/leases.ts";
import { FakeClock } from "../fake-clock.ts";
import { openGateway, putSnapshot, regional } from "../open-gateway.ts";
import { memoryDatabase } from "../open-keyed.ts";

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
    const { generation, expiresAt } = await putSnapshot(gateway, regional("east", "e"), {
      leaseSeconds: 100,
    });
    expect(expiresAt).toBe(DAY + HOUR + 100_000);
    clock.ahead = 2 * HOUR;
    expect((await gateway.renew("east", generation, { leaseSeconds: 100 })).expiresAt).toBe(
      DAY + 2 * HOUR + 100_000,
    );
    expect(gateway.unixTime(gateway.everything.status().clusters[0]!.expiresAt)).toBe(
      DAY + 2 * HOUR + 100_000,
    );
  });

  test("generations grow, although the wall clock was set back and the cluster has left meanwhile", async () => {
    const clock = new MachineClock(DAY);
    const { gateway } = openGateway({ clock });
    const first = await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 });
    clock.ahead = -HOUR;
    const second = await putSnapshot(gateway, regional("east", "f"), { leaseSeconds: 100 });
    expect(second.generation).toBeGreaterThan(first.generation);
    await gateway.leave("east");
    const third = await putSnapshot(gateway, regional("east", "g"), { leaseSeconds: 100 });
    expect(third.generation).toBeGreaterThan(second.generation);
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
  const delays: number[] = [];
  const clock: Clock = {
    now: () => 0,
    setTimer(milliseconds) {
      delays.push(milliseconds);
      return () => {};
    },
  };
  new LeaseTimer(clock, () => {}).watch(40 * DAY);
  expect(delays).toEqual([2 ** 31 - 1]);
});
