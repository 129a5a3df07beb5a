import { describe, expect, test } from "vitest";
import { openTurns } from "./open-turns.ts";

function* stepsOf(name: string, count: number, done: string[]): Generator<void, string> {
  for (let step = 0; step < count; step++) {
    done.push(name);
    yield;
  }
  return name;
}

describe("turns", () => {
  test("of large pushes one has each turn, in the order in which they came, also where one fails", async () => {
    const { turns, next, waiting } = openTurns();
    const done: string[] = [];
    const failing = (function* () {
      yield* stepsOf("b", 60, done);
      throw new Error("failed");
    })();
    const all = Promise.allSettled([
      turns.run(stepsOf("a", 80, done), 32),
      turns.run(failing, 32),
      turns.run(stepsOf("c", 80, done), 32),
    ]);
    const turnsOf: string[] = [];
    while (done.length < 220) {
      const before = done.length;
      await next();
      const names = new Set(done.slice(before));
      expect(names.size).toBeLessThanOrEqual(1);
      expect(done.length - before).toBeLessThanOrEqual(32);
      turnsOf.push(...names);
      expect(waiting()).toBeLessThanOrEqual(1);
    }
    for (let left = 0; left < 3; left++) await next();
    expect(await all).toMatchObject([{ value: "a" }, { reason: { message: "failed" } }, { value: "c" }]);
    expect(turnsOf.slice(0, 6)).toEqual(["a", "b", "c", "a", "b", "c"]);
  });

  test("what can wait has the turns that nothing else wants, and one of eight", async () => {
    const { turns, next } = openTurns();
    const done: string[] = [];
    const run = [
      turns.later.run(stepsOf("page", 64, done), 4),
      turns.run(stepsOf("a", 200, done), 4),
      turns.run(stepsOf("b", 200, done), 4),
    ];
    while (done.length < 464) await next();
    for (let left = 0; left < 3; left++) await next();
    await Promise.all(run);
    const until = done.slice(0, done.lastIndexOf("b"));
    const share = until.filter((name) => name === "page").length / until.length;
    expect(share).toBeGreaterThan(1 / 12);
    expect(share).toBeLessThan(1 / 7);
  });

  test("what can wait is too much above a number of pieces", async () => {
    const { turns } = openTurns();
    const run = () => void turns.later.run(stepsOf("page", 1000, []), 1);
    for (let piece = 0; piece < 256; piece++) run();
    expect(turns.later.isHigh).toBe(false);
    for (let piece = 0; piece < 2; piece++) run();
    expect(turns.later.isHigh).toBe(true);
  });

  test("a turn ends after its time", async () => {
    const { turns, pass, next, waiting } = openTurns();
    const done: string[] = [];
    const steps = (function* () {
      for (const name of stepsOf("a", 6, done)) {
        pass(3);
        yield name;
      }
    })();
    const run = turns.run(steps);
    expect(done.length).toBeLessThanOrEqual(2);
    while (done.length < 6) {
      expect(waiting()).toBe(1);
      const before = done.length;
      await next();
      expect(done.length - before).toBeLessThanOrEqual(2);
    }
    await next();
    await run;
  });

  test("what begins does not wait for large work", async () => {
    const { turns, next, waiting } = openTurns();
    const done: string[] = [];
    const large = Promise.all(["a", "b", "c"].map((name) => turns.run(stepsOf(name, 2000, done))));
    await next();
    expect(waiting()).toBe(1);
    expect(await turns.run(stepsOf("small", 5, done))).toBe("small");
    expect(done.slice(-5)).toEqual(Array(5).fill("small"));
    expect(done.length).toBeLessThan(1000);
    while (waiting() > 0) await next();
    await large;
  });
});
