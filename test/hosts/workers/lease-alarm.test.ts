import { describe, expect, test } from "vitest";
import { LeaseAlarm } from "../../../src/hosts/workers/bindings.ts";

const NOW = 1_000_000;

/** An alarm, and the times to which it was set. @param setBefore of an object that starts again */
function open(setBefore: number | null = null) {
  const clock = { now: NOW };
  const set: number[] = [];
  const errors: unknown[] = [];
  const disk: { failure?: Error } = {};
  const setAlarm = async (at: number) => {
    if (disk.failure !== undefined) throw disk.failure;
    set.push(at - NOW);
  };
  const alarm = new LeaseAlarm(
    { setAlarm },
    setBefore,
    (error) => errors.push(error),
    () => clock.now,
  );
  const watch = (after: number) => alarm.watch(NOW + after);
  return { alarm, clock, set, errors, disk, watch };
}

// test/e2e/edge/worker.e2e.test.ts has the alarm of an object expire a lease.
describe("the alarm of an object", () => {
  test("is set to the first lease's end, and to an earlier one, but not moved by renewals", () => {
    const { set, watch } = open();
    for (const after of [60_000, 600_000, 10_000, 10_000, 60_000, Number.POSITIVE_INFINITY]) watch(after);
    expect(set).toEqual([60_000, 10_000]);
  });

  test("is set to the next expiry when it goes off, and after the last cluster no more", () => {
    const { alarm, set, watch } = open();
    const next = [60_000, Number.POSITIVE_INFINITY];
    alarm.onDue = () => watch(next.shift()!);
    watch(10_000);
    alarm.ring();
    alarm.ring();
    expect(set).toEqual([10_000, 60_000]);
  });

  test("counts where it was set before, and not where its time has passed, when it may never go off", () => {
    const setFor = (before: number | null, passed = 0) => {
      const { clock, set, watch } = open(before);
      clock.now += passed;
      watch(60_000);
      return set;
    };
    expect(setFor(NOW + 60_000)).toEqual([]);
    expect(setFor(NOW + 1000)).toEqual([]);
    for (const set of [setFor(null), setFor(NOW - 1000), setFor(NOW + 1000, 2000)])
      expect(set).toEqual([60_000]);
  });

  test("that could not be set is reported, and set with the next lease", async () => {
    const { errors, set, disk, watch } = open();
    disk.failure = new Error("no storage");
    watch(60_000);
    await new Promise(setImmediate);
    expect(errors).toEqual([disk.failure]);
    delete disk.failure;
    watch(60_000);
    expect(set).toEqual([60_000]);
  });
});
