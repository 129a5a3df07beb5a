import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startRefreshers } from "../../../src/hosts/node/gateway/parts.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test("a refresher that waits for its disk is not called again before it ends, and others are", async () => {
  const slow = Promise.withResolvers<void>();
  const waits = vi.fn(() => slow.promise);
  const fails = vi.fn(() => Promise.reject(new Error("ENOENT")));
  const warn = vi.fn();
  const refreshers = startRefreshers([waits, fails], { warn });
  await vi.advanceTimersByTimeAsync(30_000);
  expect([waits, fails, warn].map(({ mock }) => mock.calls.length)).toEqual([1, 3, 3]);
  slow.resolve();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(waits).toHaveBeenCalledTimes(2);
  refreshers.close();
});
