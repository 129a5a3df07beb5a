import { afterEach, describe, expect, it, vi } from "vitest";
import { anyLoad, LoopDelay, RequestsInFlight, SharedCounts } from "../../src/limits/counters.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("load", () => {
  function delays(most: number) {
    const clock = { now: 0 };
    const delay = new LoopDelay(most, () => clock.now);
    /** The timer of 50 ms is so late, so often. */
    const late = (milliseconds: number, times = 1) => {
      for (let turn = 0; turn < times; turn++) {
        clock.now += 50 + milliseconds;
        delay.sample();
      }
      return delay.isHigh;
    };
    return late;
  }

  it("is high while half of the places for requests are taken, and there are no more than those", () => {
    const requests = new RequestsInFlight(4);
    const begun = Array.from({ length: 6 }, () => [requests.begin(), requests.isHigh]);
    expect(begun.map(([isBegun]) => isBegun)).toEqual([true, true, true, true, false, false]);
    expect(begun.map(([, isHigh]) => isHigh)).toEqual([false, false, true, true, true, true]);
    expect(anyLoad([{ isHigh: false }, requests]).isHigh).toBe(true);
    for (let turn = 0; turn < 4; turn++) requests.end();
    expect([requests.count, anyLoad([requests]).isHigh]).toEqual([0, false]);
  });

  it("is high only where timers are late above the bound, and of nine samples the middle one counts", () => {
    const late = delays(200);
    expect([late(5000), late(0, 4)]).toEqual([false, false]);
    // As text the middle one would be 250.
    for (const delay of [250, 30, 100, 250, 30, 100, 250, 30, 100]) expect(late(delay)).toBe(false);
    expect(late(200, 9)).toBe(false);
    expect(late(201, 4)).toBe(false);
    expect(late(201)).toBe(true);
    expect(late(1000, 20)).toBe(true);
    expect([late(0, 4), late(0)]).toEqual([true, false]);
  });

  it("counts its first sample from when it was made", () => {
    const late = delays(50);
    expect(late(0)).toBe(false);
    expect(late(60, 4)).toBe(false);
  });

  it("is measured by a timer and the machine's clock, until that is ended", () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const delay = new LoopDelay(200);
    const stop = delay.start();
    vi.advanceTimersByTime(500);
    expect(delay.isHigh).toBe(false);
    let now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => {
      now += 10_000;
      return now;
    });
    vi.advanceTimersByTime(500);
    expect(delay.isHigh).toBe(true);
    expect(vi.getTimerCount()).toBe(1);
    stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is high in all threads of a process while one of them is late, until that one ends", () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const memory = SharedCounts.allocate(2);
    const clock = { now: 0 };
    const [own, other] = [0, 1].map(
      (thread) => new LoopDelay(200, () => clock.now, new SharedCounts(memory, thread).of("overloaded")),
    );
    const stop = own!.start();
    for (let turn = 0; turn < 9; turn++) {
      clock.now += 1000;
      own!.sample();
    }
    expect([own!.isHigh, other!.isHigh]).toEqual([true, true]);
    stop();
    expect([own!.isHigh, other!.isHigh]).toEqual([false, false]);
  });
});
