import { vi } from "vitest";

/**
 * Stops `performance.now()`, by which servers in this process count how long their clients do nothing; timers
 * still run. Returns what lets milliseconds pass. `vi.restoreAllMocks` starts it again.
 */
export function stopClock(): (milliseconds: number) => void {
  let now = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => now);
  return (milliseconds) => {
    now += milliseconds;
  };
}
