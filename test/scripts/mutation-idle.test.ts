import { expect, it } from "vitest";
import { idleTime, unlessIdle } from "../../scripts/mutation/one-worker/idle.ts";

it("a step that waits for something that never comes ends when its thread has been idle for long enough", async () => {
  const before = idleTime();
  await expect(unlessIdle(() => new Promise(() => {}), 50)).rejects.toThrow("never comes");
  expect(idleTime() - before).toBeGreaterThan(50);
});

it("a step that ends while its thread works gives its result, however long it takes", async () => {
  const work = () => {
    const end = process.threadCpuUsage().user + 25_000;
    while (process.threadCpuUsage().user < end);
    return new Promise((resolve) => setImmediate(resolve));
  };
  const step = async () => {
    for (let times = 10; times > 0; times--) await work();
    return "a result";
  };
  expect(await unlessIdle(step, 50)).toBe("a result");
  await expect(unlessIdle(() => Promise.reject(new Error("of the step")), 50)).rejects.toThrow("of the step");
});
