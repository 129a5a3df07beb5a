import { setTimeout as sleep } from "node:timers/promises";
import { DEADLINE } from "../../deadline.ts";

/** Calls `probe` until it returns something. @throws {Error} after the deadline, with its last error */
export async function waitFor<T>(
  what: string,
  probe: () => Promise<T | false | undefined> | T | false | undefined,
): Promise<T> {
  const end = Date.now() + DEADLINE;
  let lastError: unknown;
  for (;;) {
    try {
      const found = await probe();
      if (found !== false && found !== undefined) return found;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > end) throw new Error(`not within ${DEADLINE} ms: ${what}`, { cause: lastError });
    await sleep(50);
  }
}
