import { describe, expect, test } from "vitest";
import { Reader } from "../../../src/database/reader.ts";
import { LeaseAlarm } from "../../../src/hosts/workers/bindings.ts";
import { stage, wholeLines } from "../../database/pushing.ts";
import { FakeClock, settle } from "../../gateway/fake-clock.ts";
import { memoryDatabase, openKeyed } from "../../gateway/open-keyed.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";

/** A gateway whose leases are watched by an alarm that the test lets go off. */
async function openObject(
  clock = new FakeClock(),
  database = memoryDatabase(),
  setBefore: number | null = null,
) {
  const set: number[] = [];
  let failure: Error | undefined;
  const errors: unknown[] = [];
  const storage = {
    async setAlarm(at: number) {
      if (failure !== undefined) throw failure;
      set.push(at);
    },
  };
  const alarm = new LeaseAlarm(
    storage,
    setBefore,
    (error) => errors.push(error),
    () => clock.now(),
  );
  const events: string[] = [];
  const gateway = openKeyed({
    database,
    clock,
    onEvent: ({ event }) => void events.push(event),
    watchLeases: (onDue) => {
      alarm.onDue = onDue;
      return alarm;
    },
  });
  const push = async (clusterId: string, leaseSeconds: number) => {
    const reader = new Reader(database, () => {});
    const pushed = gateway.push(stage(reader, clusterId, "whole", wholeLines(shopSnapshot(clusterId))), {
      leaseSeconds,
    });
    await clock.advance(1);
    return (await pushed).acknowledgement;
  };
  return {
    alarm,
    clock,
    database,
    set,
    errors,
    events,
    gateway,
    push,
    fail: (error: Error | undefined) => {
      failure = error;
    },
  };
}

describe("leases run out by the object's alarm", () => {
  test("it is set to the first lease's end, and to an earlier one, but not moved by renewals", async () => {
    const { set, push, gateway, clock } = await openObject();
    const west = await push("west", 60);
    await push("east", 600);
    const north = await push("north", 10);
    expect(set).toEqual([west.expiresAt, north.expiresAt]);
    await clock.advance(3000);
    await gateway.renew("north", north.generation, { leaseSeconds: 60 });
    expect(set).toHaveLength(2);
    expect(clock.timers).toBe(0);
  });

  test("when it goes off, expired clusters leave, and it is set to the next expiry", async () => {
    const { set, push, alarm, clock, database, events } = await openObject();
    const west = await push("west", 60);
    const north = await push("north", 10);
    clock.stall(10_000);
    alarm.ring();
    await settle();
    expect(events).toContain("lease-expired");
    const rows = new Reader(database, () => {}).clusters();
    expect(rows.map(({ id, state }) => [id, state])).toEqual([
      ["north", "expired"],
      ["west", "live"],
    ]);
    expect(set).toEqual([west.expiresAt, north.expiresAt, west.expiresAt]);
  });

  test("too early it is set anew, and after the last cluster no more", async () => {
    const { set, push, alarm, clock, gateway, events } = await openObject();
    const north = await push("north", 10);
    clock.stall(5000);
    const renewed = await gateway.renew("north", north.generation, { leaseSeconds: 20 });
    clock.stall(5000);
    alarm.ring();
    expect(events).not.toContain("lease-expired");
    expect(set).toEqual([north.expiresAt, renewed.expiresAt]);
    clock.stall(20_000);
    alarm.ring();
    await settle();
    expect(events).toContain("lease-expired");
    expect(set).toHaveLength(2);
  });

  test("an object that starts again relies on the alarm that is set", async () => {
    const { push, clock, database } = await openObject();
    const west = await push("west", 60);
    expect((await openObject(clock, database, west.expiresAt)).set).toEqual([]);
    expect((await openObject(clock, database, null)).set).toEqual([west.expiresAt]);
  });

  test("an alarm of the past, which may never go off, counts for nothing", async () => {
    const { push, clock, database } = await openObject();
    const west = await push("west", 60);
    expect((await openObject(clock, database, clock.now() - 1000)).set).toEqual([west.expiresAt]);
    const missed = await openObject(clock, database, clock.now() + 1000);
    clock.stall(2000);
    const north = await missed.push("north", 10);
    expect(missed.set).toEqual([north.expiresAt]);
  });

  test("an alarm that could not be set is reported, and set with the next push", async () => {
    const { push, errors, set, fail } = await openObject();
    fail(new Error("no storage"));
    await push("west", 60);
    await settle();
    expect(errors).toHaveLength(1);
    fail(undefined);
    const north = await push("north", 600);
    expect(set).toHaveLength(1);
    expect(set[0]).toBeLessThan(north.expiresAt);
  });
});
