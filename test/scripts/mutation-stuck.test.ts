import { expect, it } from "vitest";
import { idleTime, LOOPS, unlessStuck } from "../../scripts/mutation/one-worker/stuck.ts";

const BOUNDS = { idle: 50, work: 1_000_000 };

it("a step that waits for something that never comes ends when its thread has been idle for long enough", async () => {
  const before = idleTime();
  await expect(unlessStuck(() => new Promise(() => {}), BOUNDS)).rejects.toThrow("never comes");
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
  expect(await unlessStuck(step, BOUNDS)).toBe("a result");
  await expect(unlessStuck(() => Promise.reject(new Error("of the step")), BOUNDS)).rejects.toThrow(
    "of the step",
  );
});

it("a step that asks again and again ends after much more work than it should have", async () => {
  let isOver = false;
  const step = async () => {
    while (!isOver) await new Promise((resolve) => setImmediate(resolve));
  };
  await expect(unlessStuck(step, { idle: 1_000_000, work: 30_000 })).rejects.toThrow(LOOPS);
  isOver = true;
});
