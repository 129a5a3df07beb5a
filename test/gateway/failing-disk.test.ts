import { describe, expect, test } from "vitest";
import type { Statement } from "../../src/database/driver.ts";
import { openGateway, patchCluster, putSnapshot, regional } from "./open-gateway.ts";
import { memoryDatabase } from "./open-keyed.ts";

/** A database that throws `failure` instead of writing, as long as there is one. */
function databaseOnDisk() {
  const inner = memoryDatabase();
  const disk: { failure: Error | undefined } = { failure: undefined };
  const writing = <Result>(write: () => Result): Result => {
    if (disk.failure !== undefined) throw disk.failure;
    return write();
  };
  const prepare = (sql: string): Statement => {
    const statement = inner.prepare(sql);
    return {
      run: (...values) => writing(() => statement.run(...values)),
      get: (...values) => statement.get(...values),
      all: (...values) => statement.all(...values),
    };
  };
  const database = {
    ...inner,
    prepare,
    atomically: <Result>(change: () => Result) => writing(() => inner.atomically(change)),
  };
  return { database, disk };
}

/** A gateway with `east` for 100 s and `west` for 10 s, whose disk then fails. */
async function onFailingDisk(failure: Error) {
  const { database, disk } = databaseOnDisk();
  const opened = openGateway({ database });
  const { gateway } = opened;
  const east = await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 });
  const west = await putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 });
  disk.failure = failure;
  return { ...opened, disk, east, west };
}

/** As `node:sqlite` throws it. */
const sqlite = (errstr: string, errcode: number) =>
  Object.assign(new Error(errstr), { code: "ERR_SQLITE_ERROR", errcode, errstr });

const FULL = sqlite("database or disk is full", 13);
const failures: [what: string, failure: Error, code: string, refusal: string][] = [
  ["is full", FULL, "SQLITE_FULL", "STORE_FULL"],
  ["cannot be read", sqlite("disk I/O error", 10), "SQLITE_IOERR", "STORE_FAILED"],
  ["is read-only", sqlite("attempt to write a readonly database", 8), "SQLITE_READONLY", "STORE_FAILED"],
  [
    "is full, as a Durable Object says it",
    new Error("database or disk is full: SQLITE_FULL"),
    "SQLITE_FULL",
    "STORE_FULL",
  ],
  [
    "has written all that Cloudflare's free plan allows for a day",
    new Error("Exceeded allowed rows written in Durable Objects free tier."),
    "DAILY_LIMIT",
    "STORE_FULL",
  ],
];

test.each(failures)(
  "on a disk that %s, renewals count, and names go on being answered: status and events say so until a change is taken again",
  async (_, failure, code, refusal) => {
    const { gateway, clock, served, leases, disk, events, east, west } = await onFailingDisk(failure);
    const reported = () => events.map(({ event }) => event).filter((event) => event.startsWith("store-"));
    const trouble = () => gateway.everything.status().storeTrouble;
    expect(trouble()).toBeUndefined();
    for (let round = 0; round < 5; round++) {
      await clock.advance(9_000);
      const { expiresAt } = await gateway.renew("west", west.generation, { leaseSeconds: 10 });
      expect(expiresAt).toBe(clock.now() + 10_000);
      expect(leases()).toEqual([east.expiresAt, expiresAt]);
    }
    expect(served()).toBe("east:e west:w");
    expect(gateway.everything.status().ready).toBe(true);
    expect(trouble()).toEqual({ reason: expect.stringContaining(code), since: clock.now() - 36_000 });
    const pushed = () => putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 100 });
    await expect(pushed()).rejects.toMatchObject({ code: refusal, message: expect.stringContaining(code) });
    expect(reported()).toEqual(["store-failed"]);
    disk.failure = undefined;
    await gateway.renew("east", east.generation, { leaseSeconds: 100 });
    expect(trouble()).toBeDefined();
    await pushed();
    expect(trouble()).toBeUndefined();
    expect(reported()).toEqual(["store-failed", "store-works-again"]);
  },
);

describe("on a full disk", () => {
  const rejected = { code: "STORE_FULL" };

  test("changes are rejected, change nothing, and show that their cluster lives", async () => {
    const { gateway, clock, served, west } = await onFailingDisk(FULL);
    await clock.advance(9_000);
    const change = { namespaces: { a: {} } };
    const patched = patchCluster(gateway, "west", west.generation, change, { leaseSeconds: 10 });
    await expect(patched).rejects.toMatchObject(rejected);
    await clock.advance(9_000);
    const pushed = putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 10 });
    await expect(pushed).rejects.toMatchObject(rejected);
    await clock.advance(9_000);
    expect(served()).toBe("east:e west:w");
    expect(gateway.everything.status().clusters).toMatchObject([{}, { generation: west.generation }]);
    await clock.advance(1_000);
    expect(served()).toBe("east:e");
  });

  test("a cluster whose change was rejected, and that gave up, does not keep the failure alive", async () => {
    const { gateway, disk, east } = await onFailingDisk(FULL);
    await expect(putSnapshot(gateway, regional("new", "n"))).rejects.toMatchObject(rejected);
    expect(gateway.everything.hasCluster("new")).toBe(false);
    disk.failure = undefined;
    await gateway.renew("east", east.generation, { leaseSeconds: 100 });
    expect(gateway.everything.status().storeTrouble).toBeUndefined();
  });

  test.each(["its renewal", "the push that it sent before"])(
    "a cluster whose lease expires leaves the answers, and comes back once the disk takes %s",
    async (what) => {
      const { gateway, clock, served, disk, open, west } = await onFailingDisk(FULL);
      const comeBack = () =>
        what === "its renewal"
          ? gateway.renew("west", west.generation)
          : putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 100 });
      await clock.advance(10_000);
      expect(served()).toBe("east:e");
      await expect(comeBack()).rejects.toMatchObject(rejected);
      expect(served()).toBe("east:e");
      disk.failure = undefined;
      expect(served(open().everything)).toBe("east:e");
      await comeBack();
      await clock.advance(20_000);
      expect([served(), served(open().everything)]).toEqual(["east:e west:w", "east:e west:w"]);
    },
  );

  test("a cluster cannot leave, and is answered until its lease expires", async () => {
    const { gateway, clock, served, events } = await onFailingDisk(FULL);
    await expect(gateway.leave("west")).rejects.toMatchObject(rejected);
    expect(served()).toBe("east:e west:w");
    expect(events.some(({ event }) => event === "left")).toBe(false);
    await clock.advance(10_000);
    expect(served()).toBe("east:e");
  });

  test("a gateway starts, and answers from what was stored", async () => {
    const { open, served, clock, gateway, west } = await onFailingDisk(FULL);
    await gateway.renew("west", west.generation, { leaseSeconds: 100 });
    expect(served(open().everything)).toBe("east:e west:w");
    // A day later another day has begun, which cannot be stored, and the leases have expired.
    clock.stall(2 * 86_400_000);
    expect(served(open().everything)).toBe("SERVFAIL");
  });
});

test("any number of clusters that expired meanwhile is written once the disk works again", async () => {
  const { database, disk } = databaseOnDisk();
  const { gateway, clock } = openGateway({ database, limits: { clusters: 2000 } });
  await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 });
  for (let count = 0; count < 1500; count++)
    await putSnapshot(gateway, regional(`west-${count}`, "w"), { leaseSeconds: 10 });
  disk.failure = FULL;
  await clock.advance(20_000);
  expect([...gateway.state.unwrittenExpiries()]).toHaveLength(1500);
  disk.failure = undefined;
  await putSnapshot(gateway, regional("east", "f"), { leaseSeconds: 100 });
  expect([...gateway.state.unwrittenExpiries()]).toEqual([]);
});

test("what is no failure of the disk is passed on: it renews no lease, and is no trouble of the store", async () => {
  const { gateway, clock, east } = await onFailingDisk(new TypeError("unforeseen"));
  await clock.advance(1_000);
  await expect(gateway.renew("east", east.generation)).rejects.toThrow(TypeError);
  await expect(putSnapshot(gateway, regional("east", "f"))).rejects.toThrow(TypeError);
  expect(gateway.everything.status()).not.toHaveProperty("storeTrouble");
  expect(gateway.everything.status().clusters[0]!.expiresAt).toBe(east.expiresAt);
});
