import { setTimeout as sleep } from "node:timers/promises";

/** Calls `probe` until it returns something other than false or undefined; past the deadline its last error is thrown. */
export async function waitFor<T>(
  what: string,
  probe: () => Promise<T | false | undefined> | T | false | undefined,
  deadlineMs = 30_000,
): Promise<T> {
  const end = Date.now() + deadlineMs;
  let lastError: unknown;
  for (;;) {
    try {
      const found = await probe();
      if (found !== false && found !== undefined) return found;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`, { cause: lastError });
    await sleep(50);
  }
}
