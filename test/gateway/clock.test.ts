import { afterEach, describe, expect, it, vi } from "vitest";
import {
  CLOCK_JITTER,
  createSteadyClock,
  systemClock,
  unixTime,
  waitingClock,
} from "../../src/gateway/clock.ts";

afterEach(() => void vi.restoreAllMocks());

/** A steady clock whose program started at 1,000,000 ms of the wall clock, and has run for that long. */
function open() {
  const held = { wall: 1_000_000, running: 0 };
  vi.spyOn(Date, "now").mockImplementation(() => held.wall);
  vi.spyOn(performance, "now").mockImplementation(() => held.running);
  const clock = createSteadyClock();
  const pass = (milliseconds: number, setBy = 0) => {
    held.running += milliseconds;
    held.wall += milliseconds + setBy;
  };
  return { clock, pass };
}

describe("a steady clock", () => {
  it("goes on from the time at the program's start, in whole milliseconds", () => {
    const { clock, pass } = open();
    expect(clock.now()).toBe(1_000_000);
    pass(1500.7);
    expect(clock.now()).toBe(1_001_500);
    pass(0, 3_600_000);
    expect(clock.now()).toBe(1_001_500);
    pass(1000, -7_200_000);
    expect(clock.now()).toBe(1_002_500);
  });

  it("says by how much the wall clock is ahead once that is a second or more", () => {
    const { clock, pass } = open();
    expect(clock.wallOffset!()).toBe(0);
    pass(0, CLOCK_JITTER - 1);
    expect(clock.wallOffset!()).toBe(0);
    pass(0, 1);
    expect(clock.wallOffset!()).toBe(CLOCK_JITTER);
    expect(unixTime(clock, 5000)).toBe(6000);
    // As long as it is not set again, times are shown as the same Unix times.
    pass(0, -(CLOCK_JITTER - 1));
    expect(clock.wallOffset!()).toBe(CLOCK_JITTER);
    pass(0, -1);
    expect(clock.wallOffset!()).toBe(0);
    pass(0, -10_000);
    expect(clock.wallOffset!()).toBe(-10_000);
  });
});

describe.each([
  ["system", systemClock, false],
  ["waiting", waitingClock, true],
] as const)("the %s clock", (_, clock, keepsAlive) => {
  it("is the wall clock", () => {
    vi.spyOn(Date, "now").mockReturnValue(123);
    expect([clock.now(), unixTime(clock, 123)]).toEqual([123, 123]);
  });

  it("has timers that run once, unless they are stopped", async () => {
    const ran: string[] = [];
    const stop = clock.setTimer(1, () => ran.push("stopped"));
    stop();
    await new Promise<void>((resolve) => {
      clock.setTimer(1, () => {
        ran.push("timer");
        setTimeout(resolve, 5);
      });
      if (!keepsAlive) setTimeout(() => {}, 50);
    });
    expect(ran).toEqual(["timer"]);
  });

  it(`has timers that ${keepsAlive ? "keep" : "do not keep"} a process alive`, () => {
    const timer = {
      hasRef: true,
      unref: () => {
        timer.hasRef = false;
      },
    };
    vi.spyOn(globalThis, "setTimeout").mockReturnValue(timer as never);
    clock.setTimer(1000, () => {});
    expect(timer.hasRef).toBe(keepsAlive);
  });

  it("has turns of the event loop, without a timer", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    await new Promise<void>((resolve) => clock.nextTurn!(resolve));
    expect(timers).not.toHaveBeenCalled();
  });
});

it("where timers are numbers, as in Workers, they run as well", () => {
  const started = vi.spyOn(globalThis, "setTimeout").mockReturnValue(7 as never);
  const stopped = vi.spyOn(globalThis, "clearTimeout").mockReturnValue();
  systemClock.setTimer(10, () => {})();
  expect(started).toHaveBeenCalledWith(expect.any(Function), 10);
  expect(stopped).toHaveBeenCalledWith(7);
});
