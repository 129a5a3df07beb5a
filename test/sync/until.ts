import { vi } from "vitest";

vi.setConfig({ testTimeout: 30_000 });

/** Waits until `check` passes; long enough for a busy machine. */
export function until(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: 10_000, interval: 10 });
}
