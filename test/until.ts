import { vi } from "vitest";
import { DEADLINE } from "./deadline.ts";

/** Waits until `check` passes. */
export function until<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: DEADLINE, interval: 10 });
}
