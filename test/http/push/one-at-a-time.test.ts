import { expect, test } from "vitest";
import { OneAtATime } from "../../../src/http/push/one-at-a-time.ts";
import { PushAdmission } from "../../../src/http/push/push-admission.ts";
import { DEFAULT_PUSH_LIMITS } from "../../../src/http/push/push-limits.ts";
import { settle } from "../../gateway/fake-clock.ts";

test("tasks run in the order in which they came, also after one that failed", async () => {
  const queue = new OneAtATime();
  const order: number[] = [];
  const first = Promise.withResolvers<void>();
  const failing = queue.run(async () => {
    await first.promise;
    throw new Error("the first one");
  });
  const second = queue.run(async () => order.push(2));
  const third = queue.run(async () => order.push(3));
  await settle();
  expect(order).toEqual([]);
  first.resolve();
  await expect(failing).rejects.toThrow("the first one");
  await Promise.all([second, third]);
  expect(order).toEqual([2, 3]);
});

test("a small body does not wait for large ones", async () => {
  const admission = new PushAdmission({ ...DEFAULT_PUSH_LIMITS, pushSmallBytes: 100 });
  const account = (bytes: number) => {
    const opened = admission.open("west");
    opened.charge(bytes);
    return opened;
  };
  const never = admission.turn(account(101), () => new Promise<string>(() => {}));
  const large = admission.turn(account(101), async () => "large");
  const small = admission.turn(account(100), async () => "small");
  expect(await small).toBe("small");
  expect(await Promise.race([never, large, settle().then(() => "waits")])).toBe("waits");
});
