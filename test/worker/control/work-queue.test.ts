import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError } from "../../../src/worker/api-server.ts";
import {
  AT_ONCE,
  INVALID_PAUSE,
  isExpected,
  RETRY_LIMITS,
  WorkQueue,
} from "../../../src/worker/control/controller.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A queue whose work ends when the test lets it. */
function openQueue(isOpen = true) {
  const started: string[] = [];
  const failed: string[] = [];
  const running = new Map<string, PromiseWithResolvers<void>>();
  const queue = new WorkQueue(
    (key) => {
      started.push(key);
      const work = Promise.withResolvers<void>();
      running.set(key, work);
      return work.promise;
    },
    (key, _error, failures, isNews) => failed.push(`${key} ${failures}${isNews ? "" : " again"}`),
  );
  const end = async (key: string, error?: Error) => {
    if (error === undefined) running.get(key)!.resolve();
    else running.get(key)!.reject(error);
    await vi.advanceTimersByTimeAsync(0);
  };
  if (isOpen) queue.open();
  return { started, end, queue, failed };
}

test("a key is worked on once at a time, and again if it was touched meanwhile", async () => {
  const { started, end, queue } = openQueue();
  for (let time = 0; time < 3; time++) queue.add("a");
  expect(started).toEqual(["a"]);
  await end("a");
  expect(started).toEqual(["a", "a"]);
  await end("a");
  expect(started).toHaveLength(2);
  expect(queue.size).toBe(0);
});

test("a bounded number of keys is worked on at a time", async () => {
  const { started, end, queue } = openQueue();
  for (let key = 0; key < AT_ONCE + 2; key++) queue.add(String(key));
  expect(started).toHaveLength(AT_ONCE);
  await end("3");
  expect(started).toHaveLength(AT_ONCE + 1);
});

test("a failed key is tried again after a pause that grows, or when it changes, and others do not wait for it", async () => {
  const { started, end, queue, failed } = openQueue();
  queue.add("a");
  await end("a", new Error("no"));
  queue.add("b");
  expect(started).toEqual(["a", "b"]);
  await vi.advanceTimersByTimeAsync(RETRY_LIMITS.first);
  expect(started).toEqual(["a", "b", "a"]);
  await end("a", new Error("no"));
  await vi.advanceTimersByTimeAsync(RETRY_LIMITS.first / 2);
  expect(started).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(RETRY_LIMITS.first * 1.5);
  expect(started).toHaveLength(4);
  await end("a", new Error("no"));
  queue.add("a");
  expect(started).toHaveLength(5);
  // Success forgets the failures.
  await end("a");
  queue.add("a");
  await end("a", new Error("no"));
  expect(failed).toEqual(["a 1", "a 2 again", "a 3 again", "a 1"]);
});

test("a key whose object is invalid is tried again when it changes, or after minutes; the same error is no news", async () => {
  const { started, end, queue, failed } = openQueue();
  const invalid = new ApiError("PATCH", 422, "invalid");
  queue.add("a");
  await end("a", invalid);
  await vi.advanceTimersByTimeAsync(INVALID_PAUSE - 1);
  expect(started).toEqual(["a"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(started).toEqual(["a", "a"]);
  await end("a", invalid);
  queue.add("a");
  expect(started).toHaveLength(3);
  await end("a", new ApiError("PATCH", 422, "otherwise"));
  expect(failed).toEqual(["a 1", "a 2 again", "a 3"]);
});

test("works on nothing before it is opened, and takes nothing after it is closed", async () => {
  const { started, end, queue } = openQueue(false);
  queue.add("a");
  expect(started).toEqual([]);
  queue.open();
  await end("a", new Error("no"));
  queue.close();
  queue.add("b");
  await vi.advanceTimersByTimeAsync(RETRY_LIMITS.most);
  expect(started).toEqual(["a"]);
});

test("an API server's error is expected where its cause is that the namespace goes", () => {
  const isExpectedOf = (status: number, reason: string, isThere: boolean) => {
    const text = JSON.stringify({ message: "", details: { causes: [{ reason }] } });
    return isExpected(new ApiError("PATCH /path", status, text), isThere);
  };
  expect([isExpectedOf(404, "", false), isExpectedOf(403, "NamespaceTerminating", true)]).toEqual([
    true,
    true,
  ]);
  expect([isExpectedOf(404, "", true), isExpectedOf(403, "", false)]).toEqual([false, false]);
});
