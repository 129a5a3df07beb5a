import { vi } from "vitest";

/**
 * Lets milliseconds pass at once in this process, by `Date.now()`; timers do not run earlier.
 * `vi.restoreAllMocks` takes it back.
 */
export function pass(milliseconds: number): void {
  const now = Date.now.bind(Date);
  vi.spyOn(Date, "now").mockImplementation(() => now() + milliseconds);
}
