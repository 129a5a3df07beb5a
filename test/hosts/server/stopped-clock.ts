import { vi } from "vitest";

/** Stops `performance.now()` until `vi.restoreAllMocks`; timers run. @returns lets milliseconds pass */
export function stopClock(): (milliseconds: number) => void {
  let now = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => now);
  return (milliseconds) => {
    now += milliseconds;
  };
}
