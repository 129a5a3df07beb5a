import { describe, expect, test } from "vitest";
import { CompileSchedule } from "../../../src/gateway/serving/compile-schedule.ts";
import { Turns } from "../../../src/gateway/turns.ts";
import { exported, snapshot } from "../../merge/fixtures.ts";
import { FakeClock, settle } from "../fake-clock.ts";
import { openGateway } from "../fake-stages.ts";
import { patchCluster, putSnapshot } from "../pushes.ts";

/** Steps that take their time on the clock, and note that they were taken. */
function* taking(clock: FakeClock, steps: readonly number[], taken: number[]): Generator<void, string> {
  for (const [index, milliseconds] of steps.entries()) {
    clock.stall(milliseconds);
    taken.push(index);
    yield;
  }
  return "done";
}

describe("work in turns", () => {
  test("that fits into one turn is done at once", () => {
    const clock = new FakeClock();
    const taken: number[] = [];
    void new Turns(clock).run(taking(clock, [0, 0.5, 0], taken));
    expect(taken).toEqual([0, 1, 2]);
    expect(clock.timers).toBe(0);
  });

  test("gives up the thread after 1 ms, and goes on in the next turn", async () => {
    const clock = new FakeClock();
    const taken: number[] = [];
    const work = new Turns(clock).run(taking(clock, [0.5, 0.5, 0.5, 5, 0.5], taken));
    expect(taken).toEqual([0, 1]);
    await clock.turn();
    expect(taken).toEqual([0, 1, 2, 3]);
    await clock.turn();
    expect(taken).toEqual([0, 1, 2, 3, 4]);
    await expect(work).resolves.toBe("done");
  });

  test("gives up the thread after 256 steps where the clock does not move, as in a Worker", async () => {
    const clock = new FakeClock();
    const taken: number[] = [];
    const work = new Turns(clock).run(taking(clock, Array(600).fill(0), taken));
    expect(taken).toHaveLength(256);
    await clock.advance(0);
    await work;
    expect(taken).toHaveLength(600);
  });
});

describe("a schedule of runs in slices", () => {
  function open(steps: readonly number[]) {
    const clock = new FakeClock();
    const runs: number[][] = [];
    const schedule = new CompileSchedule(clock, new Turns(clock), function* () {
      const taken: number[] = [];
      runs.push(taken);
      yield* taking(clock, steps, taken);
    });
    return { clock, runs, schedule };
  }

  test("resolves a request when a run that began after it has ended", async () => {
    const { clock, runs, schedule } = open([4, 4, 4]);
    void schedule.runNow();
    expect(runs).toEqual([[0]]);
    let isDone = false;
    void schedule.request().then(() => (isDone = true));
    await settle();
    await clock.advance(0);
    expect(runs[0]).toEqual([0, 1, 2]);
    expect(isDone).toBe(false);
    await clock.advance(12);
    expect(runs).toHaveLength(2);
    expect(isDone).toBe(true);
  });

  test("has a small change follow a large run at once, and large ones wait for as long as it took", async () => {
    const { clock, runs, schedule } = open([4, 4, 4]);
    void schedule.request();
    await clock.advance(0);
    expect(runs).toEqual([[0, 1, 2]]);
    const small = schedule.request(true);
    await clock.advance(0);
    await small;
    expect(runs).toHaveLength(2);
    // Small ones wait for small ones.
    const another = schedule.request(true);
    await clock.advance(11);
    expect(runs).toHaveLength(2);
    await clock.advance(1);
    await another;
    expect(runs).toHaveLength(3);
  });

  test("has a large change wait for the pause after a large run, and small ones that come meanwhile with it", async () => {
    const { clock, runs, schedule } = open([20, 20, 20]);
    void schedule.request();
    await clock.advance(0);
    const large = schedule.request();
    const small = schedule.request(true);
    await clock.advance(59);
    expect(runs).toHaveLength(1);
    await clock.advance(1);
    await Promise.all([large, small]);
    expect(runs).toHaveLength(2);
  });

  test("has a small change that is to begin wait with a large one that comes", async () => {
    const { clock, runs, schedule } = open([20, 20, 20]);
    void schedule.request();
    await clock.advance(0);
    const small = schedule.request(true);
    const large = schedule.request();
    await clock.advance(59);
    expect(runs).toHaveLength(1);
    await clock.advance(1);
    await Promise.all([small, large]);
    expect(runs).toHaveLength(2);
  });

  test("begins with the next turn after quiet, and waits for no timer", async () => {
    const { clock, runs, schedule } = open([1]);
    const requests = Promise.all([schedule.request(), schedule.request()]);
    expect(clock.timers).toBe(0);
    expect(runs).toEqual([]);
    await clock.turn();
    await requests;
    expect(runs).toEqual([[0]]);
  });

  test("has one run where what was requested is compiled before its turn", async () => {
    const { clock, runs, schedule } = open([1]);
    const request = schedule.request();
    await schedule.runNow();
    await request;
    await clock.turn();
    expect(runs).toEqual([[0]]);
  });

  test("has the next run follow at once where a lease ends while one is in progress", async () => {
    const { clock, runs, schedule } = open([4, 4]);
    void schedule.runNow();
    void schedule.runNow();
    void schedule.runNow();
    await clock.advance(0);
    expect(runs).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });
});

test("a push with many services is in the answers whole when it is acknowledged, and none of it before: its cluster is live with them", async () => {
  const { gateway, clock } = await openGateway();
  const exports = Object.fromEntries(
    Array.from({ length: 2000 }, (_, number) => [`shop/s${number}`, exported()]),
  );
  let isDone = false;
  const pushed = putSnapshot(gateway, snapshot("west", { exports })).then((acknowledged) => {
    isDone = true;
    return acknowledged;
  });
  const seen = new Set<number>();
  let turns = 0;
  for (; turns < 1000 && !isDone; turns++) {
    await clock.turn();
    const { services, clusters } = gateway.status();
    seen.add(services);
    expect(clusters.some(({ live }) => live)).toBe(services === 2000);
  }
  expect(turns).toBeGreaterThan(5);
  const { generation } = await pushed;
  expect(gateway.status()).toMatchObject({ services: 2000, clusters: [{ generation, exports: 2000 }] });
  expect([...seen].filter((services) => services !== 0 && services !== 2000)).toEqual([]);
});

test("what changes while a push is compiled is in the run after", async () => {
  const { gateway, clock, done } = await openGateway();
  const exports = Object.fromEntries(
    Array.from({ length: 1000 }, (_, number) => [`shop/s${number}`, exported()]),
  );
  const { generation } = await done(putSnapshot(gateway, snapshot("west", { exports })));
  const many = Object.fromEntries(Object.keys(exports).map((key) => [key, null]));
  const patched = patchCluster(gateway, "west", generation, { exports: many });
  const joined = putSnapshot(gateway, snapshot("east", { exports: { "shop/web": exported() } }));
  await done(Promise.all([patched, joined]));
  expect(gateway.status()).toMatchObject({ services: 1, clusters: [{ exports: 1 }, { exports: 0 }] });
  expect(await done(gateway.leave("east"))).toBe(true);
  expect(gateway.status()).toMatchObject({ services: 0, clusters: [{ clusterId: "west" }] });
  expect(clock.timers).toBeLessThanOrEqual(1);
});
