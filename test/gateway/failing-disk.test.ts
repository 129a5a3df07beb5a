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

const failures = [
  {
    what: "is full",
    failure: sqlite("database or disk is full", 13),
    code: "SQLITE_FULL",
    refusal: "STORE_FULL",
  },
  {
    what: "cannot be read",
    failure: sqlite("disk I/O error", 10),
    code: "SQLITE_IOERR",
    refusal: "STORE_FAILED",
  },
  {
    what: "is read-only",
    failure: sqlite("attempt to write a readonly database", 8),
    code: "SQLITE_READONLY",
    refusal: "STORE_FAILED",
  },
  {
    what: "is full, as a Durable Object says it",
    failure: new Error("database or disk is full: SQLITE_FULL"),
    code: "SQLITE_FULL",
    refusal: "STORE_FULL",
  },
  {
    what: "has written all that Cloudflare's free plan allows for a day",
    failure: new Error("Exceeded allowed rows written in Durable Objects free tier."),
    code: "DAILY_LIMIT",
    refusal: "STORE_FULL",
  },
];

describe.each(failures)("on a disk that $what", ({ failure, code, refusal }) => {
  const rejected = { code: refusal, message: expect.stringContaining(code) };

  test("renewals count, and names go on being answered", async () => {
    const { gateway, clock, served, leases, east, west } = await onFailingDisk(failure);
    for (let round = 0; round < 5; round++) {
      await clock.advance(9_000);
      const { expiresAt } = await gateway.renew("west", west.generation, { leaseSeconds: 10 });
      expect(expiresAt).toBe(clock.now() + 10_000);
      expect(leases()).toEqual([east.expiresAt, expiresAt]);
    }
    expect(served()).toBe("east:e west:w");
  });

  test("changes are rejected, change nothing, and show that their cluster lives", async () => {
    const { gateway, clock, served, west } = await onFailingDisk(failure);
    await clock.advance(9_000);
    const patched = patchCluster(
      gateway,
      "west",
      west.generation,
      { namespaces: { a: {} } },
      { leaseSeconds: 10 },
    );
    await expect(patched).rejects.toMatchObject(rejected);
    await clock.advance(9_000);
    const pushed = putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 10 });
    await expect(pushed).rejects.toMatchObject(rejected);
    await expect(putSnapshot(gateway, regional("new", "n"))).rejects.toMatchObject(rejected);
    await clock.advance(9_000);
    expect(served()).toBe("east:e west:w");
    expect(gateway.everything.status().clusters).toMatchObject([
      { clusterId: "east" },
      { clusterId: "west", generation: west.generation },
    ]);
    await clock.advance(1_000);
    expect(served()).toBe("east:e");
  });

  test("the status says so, events say so once, and both say when it works again", async () => {
    const { gateway, clock, disk, events, east, west } = await onFailingDisk(failure);
    const reported = () => events.map(({ event }) => event).filter((event) => event.startsWith("store-"));
    expect(gateway.everything.status().storeTrouble).toBeUndefined();
    const since = clock.now();
    await gateway.renew("east", east.generation, { leaseSeconds: 100 });
    await clock.advance(1_000);
    await gateway.renew("west", west.generation, { leaseSeconds: 100 });
    expect(gateway.everything.status()).toMatchObject({
      ready: true,
      storeTrouble: { reason: expect.stringContaining(code), since },
    });
    expect(reported()).toEqual(["store-failed"]);
    disk.failure = undefined;
    await gateway.renew("east", east.generation, { leaseSeconds: 100 });
    expect(gateway.everything.status().storeTrouble).toBeDefined();
    await putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 100 });
    expect(gateway.everything.status().storeTrouble).toBeUndefined();
    expect(reported()).toEqual(["store-failed", "store-works-again"]);
  });

  test("a cluster whose change was rejected, and that gave up, does not keep the failure alive", async () => {
    const { gateway, disk, east } = await onFailingDisk(failure);
    await expect(putSnapshot(gateway, regional("new", "n"))).rejects.toMatchObject(rejected);
    disk.failure = undefined;
    await gateway.renew("east", east.generation, { leaseSeconds: 100 });
    expect(gateway.everything.status().storeTrouble).toBeUndefined();
  });

  test("a cluster whose lease expires leaves the answers, and comes back once the disk takes its renewal", async () => {
    const { gateway, clock, served, disk, open, west } = await onFailingDisk(failure);
    await clock.advance(10_000);
    expect(served()).toBe("east:e");
    await expect(gateway.renew("west", west.generation)).rejects.toMatchObject(rejected);
    expect(served()).toBe("east:e");
    disk.failure = undefined;
    expect(served(open().everything)).toBe("east:e");
    await gateway.renew("west", west.generation);
    expect(served()).toBe("east:e west:w");
    expect(served(open().everything)).toBe("east:e west:w");
  });

  test("a cluster that cannot be stored as expired comes back with the push that it sent before", async () => {
    const { gateway, clock, served, disk } = await onFailingDisk(failure);
    await clock.advance(10_000);
    disk.failure = undefined;
    await putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 100 });
    expect(served()).toBe("east:e west:w");
    await clock.advance(20_000);
    expect(served()).toBe("east:e west:w");
  });

  test("a cluster cannot leave, and is answered until its lease expires", async () => {
    const { gateway, clock, served, events } = await onFailingDisk(failure);
    await expect(gateway.leave("west")).rejects.toMatchObject(rejected);
    expect(served()).toBe("east:e west:w");
    expect(gateway.state.left.has("west")).toBe(false);
    expect(events.some(({ event }) => event === "left")).toBe(false);
    await clock.advance(10_000);
    expect(served()).toBe("east:e");
  });

  test("a gateway starts, and answers from what was stored", async () => {
    const { open, served, clock, gateway, west } = await onFailingDisk(failure);
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
  disk.failure = sqlite("database or disk is full", 13);
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
