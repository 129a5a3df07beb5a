import { vi } from "vitest";

/** Lets milliseconds pass at once, by `Date.now()`, until `vi.restoreAllMocks`; timers do not run earlier. */
export function pass(milliseconds: number): void {
  const now = Date.now.bind(Date);
  vi.spyOn(Date, "now").mockImplementation(() => now() + milliseconds);
}
