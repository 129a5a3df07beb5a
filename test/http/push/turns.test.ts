import { describe, expect, test } from "vitest";
import { BodyBudget } from "../../../src/http/push/body-budget.ts";
import { stageLines } from "../../../src/http/push/lines-body.ts";
import { DEFAULT_PUSH_LIMITS } from "../../../src/http/push/push-limits.ts";
import { Turns } from "../../../src/http/push/turns.ts";
import { NOTHING_HELD } from "../../../src/snapshot/lines/held-state.ts";
import { LinesStage } from "../../../src/snapshot/lines/lines-stage.ts";
import { headerLine, LINES_TYPE, sealed } from "../../snapshot/lines/push-lines.ts";

/** Turns of a clock that stands still, as that of a Worker does while it computes. */
function openTurns() {
  const waiting: (() => void)[] = [];
  let time = 0;
  const turns = new Turns({ now: () => time, nextTurn: (run) => void waiting.push(run) });
  return {
    turns,
    /** How many turns were asked for and not given. */
    waiting: () => waiting.length,
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
    /** Gives the next turn; resolves when whoever had it waits or is done. */
    async next() {
      waiting.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

function* stepsOf(name: string, count: number, done: string[]): Generator<void, string> {
  for (let step = 0; step < count; step++) {
    done.push(name);
    yield;
  }
  return name;
}

describe("turns", () => {
  test("a small push waits for nothing", async () => {
    const { turns, waiting } = openTurns();
    const done: string[] = [];
    expect(await turns.run(stepsOf("a", 10, done))).toBe("a");
    expect([done.length, waiting()]).toEqual([10, 0]);
  });

  test("of large pushes one has each turn, in the order in which they came", async () => {
    const { turns, next, waiting } = openTurns();
    const done: string[] = [];
    const all = Promise.all(["a", "b", "c"].map((name) => turns.run(stepsOf(name, 80, done))));
    const turnsOf: string[] = [];
    while (done.length < 240) {
      const before = done.length;
      await next();
      const names = new Set(done.slice(before));
      expect(names.size).toBeLessThanOrEqual(1);
      expect(done.length - before).toBeLessThanOrEqual(32);
      turnsOf.push(...names);
      expect(waiting()).toBeLessThanOrEqual(1);
    }
    for (let left = 0; left < 3; left++) await next();
    expect(await all).toEqual(["a", "b", "c"]);
    expect(turnsOf.slice(0, 6)).toEqual(["a", "b", "c", "a", "b", "c"]);
  });

  test("a push that fails ends alone, and the others go on", async () => {
    const { turns, next } = openTurns();
    const done: string[] = [];
    const failing = (function* () {
      for (const name of stepsOf("a", 40, done)) yield name;
      throw new Error("the first one");
    })();
    const first = turns.run(failing).catch(({ message }) => message);
    const second = turns.run(stepsOf("b", 40, done));
    const third = turns.run(stepsOf("c", 40, done));
    while (done.length < 120) await next();
    for (let left = 0; left < 3; left++) await next();
    expect(await Promise.all([first, second, third])).toEqual(["the first one", "b", "c"]);
  });

  test("a turn ends when its time is over", async () => {
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
});

const members = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `"m${from + index}":{"address":"10.0.0.1"}`).join();
const group = (from: number, count: number) =>
  `["exports","a/b",{"endpoints":{"*":{"members":{${members(from, count)}}}}}]`;
const EXPORT =
  '{"exportedAt":"2024-01-01T00:00:00Z","serviceType":"ClusterIP","headless":true,"ports":[],"endpoints":{"*":{"ports":[],"members":{}}}}';

describe("a hostile body of the largest legal size takes the thread for little in one turn", () => {
  test.each<[string, () => string[]]>([
    [
      "900,000 members in one service",
      () => [
        `["exports","a/b",${EXPORT}]`,
        ...Array.from({ length: 900 }, (_, index) => group(index * 1000, 1000)),
      ],
    ],
    [
      "100,000 empty exports",
      () => Array.from({ length: 100_000 }, (_, index) => `["exports","a/n${index}",${EXPORT}]`),
    ],
    ["100,000 lines for one entry", () => Array.from({ length: 100_000 }, () => '["namespaces","shop",{}]')],
  ])("%s", async (_, lines) => {
    const { turns, next } = openTurns();
    let inTurn = 0;
    let most = 0;
    let total = 0;
    const limits = { ...DEFAULT_PUSH_LIMITS, pushValues: 10_000_000, pushSentBytes: 2 ** 30 };
    const reading = {
      ...{ limits, turns, setTimer: () => () => {}, account: new BodyBudget(limits).open("west") },
      work: (values: number) => {
        inTurn += values;
        total += values;
        most = Math.max(most, inTurn);
      },
    };
    const request = new Request("https://gateway.example/", {
      ...{ method: "PUT", headers: { "content-type": LINES_TYPE } },
      body: sealed(headerLine("west"), ...lines()),
    });
    let isOver = false;
    const staged = stageLines(request, reading, () => new LinesStage("whole", NOTHING_HELD)).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      inTurn = 0;
      await next();
    }
    await staged;
    expect(total).toBeGreaterThan(300_000);
    expect(most).toBeLessThanOrEqual(40_000);
  });
});
