import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Kind } from "../../src/database/places.ts";
import { Writer } from "../../src/database/writer.ts";
import { RowSteps } from "../../src/replica/replicated-database.ts";
import { ENTRIES_AT_ONCE } from "../../src/replica/shared-log.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { snapshotOf } from "../database/pushing.ts";
import { patchCluster, putSnapshot } from "../gateway/open-gateway.ts";
import { memoryDatabase } from "../gateway/open-keyed.ts";
import { endpoints, exported, exporting, snapshot } from "../merge/fixtures.ts";
import type { MemoryLog } from "./memory-log.ts";
import { generationOf, liveOf, type Member, Replicas, readerOf } from "./replicas.ts";

/** A cluster with services from one number on to before another one. */
function largeExporter(from: number, to: number): ClusterSnapshot {
  const one = exporting("east");
  const names = Array.from({ length: to - from }, (_, index) => `shop/web-${from + index}`);
  return { ...one, exports: Object.fromEntries(names.map((name) => [name, one.exports["shop/web"]!])) };
}

async function turnUntil(isSo: () => boolean): Promise<void> {
  for (let turns = 0; !isSo() && turns < 1000; turns++) await setImmediate();
}

let replicas: Replicas;
afterEach(() => replicas.close());

/** Gateways that share a log, of which the first one took a push of each cluster. */
async function start(count: number, ...clusters: readonly string[]) {
  replicas = await Replicas.start(count);
  const [one, other] = replicas.members as [Member, Member];
  for (const id of clusters) await putSnapshot(one.gateway, exporting(id));
  await replicas.settled();
  return { one, other, members: replicas.members, log: replicas.log, clock: replicas.clock };
}

const agree = () => replicas.agree();
const eventsOf = ({ events }: Member) => events.map(({ event }) => event);

describe("gateways that share a log", () => {
  test("acknowledge a push when they answer from it, and say up to which entry they have applied the log", async () => {
    const { one, other } = await start(2);
    one.log.hold();
    let isTaken = false;
    const pushing = putSnapshot(one.gateway, exporting("east")).then(() => {
      isTaken = true;
    });
    await replicas.settled();
    expect([isTaken, liveOf(one), liveOf(other)]).toEqual([false, [], ["east"]]);
    expect([one.gateway.everything.status().position, other.gateway.everything.status().position]).toEqual([
      0, 1,
    ]);
    one.log.release();
    await pushing;
    expect(liveOf(one)).toEqual(["east"]);
    expect(one.gateway.everything.status().position).toBe(1);
  });

  test("are held up by no push that the log has not replied to", async () => {
    const { one, other } = await start(2);
    const reply = one.log.delayReplies();
    const pushing = putSnapshot(one.gateway, exporting("east"));
    await replicas.settled();
    await putSnapshot(other.gateway, { ...exporting("east"), namespaces: { newer: {} }, exports: {} });
    await putSnapshot(other.gateway, exporting("west"));
    await replicas.settled();
    expect(snapshotOf(readerOf(one), "east").namespaces).toEqual({ newer: {} });
    expect(agree()).toEqual(["east", "west"]);
    reply();
    await pushing;
    agree();
  });

  test("have a change of which the reply is lost: it is rejected, and among the entries", async () => {
    const { one } = await start(2);
    one.log.loseReplies();
    await expect(putSnapshot(one.gateway, exporting("east"))).rejects.toMatchObject({ code: "STORE_FAILED" });
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
  });

  test("end a lease together, once the log says so", async () => {
    const { members, one, other } = await start(2);
    await putSnapshot(one.gateway, exporting("east"), { leaseSeconds: 10 });
    await replicas.settled();
    await replicas.pass(16_000);
    expect(agree()).toEqual([]);
    expect(readerOf(other).cluster("east")?.state).toBe("expired");
    for (const { events } of members)
      expect(events.filter(({ event }) => event === "lease-expired")).toHaveLength(1);
  });

  test.each([2, ENTRIES_AT_ONCE, ENTRIES_AT_ONCE + 1])(
    "go on from their own position once they have started, load nothing, and are not stale: %i entries more",
    async (entries) => {
      const { one, other } = await start(2, "east");
      other.log.disconnect();
      const ids = ["north", "west"];
      for (let entry = 0; entry < entries; entry++)
        await putSnapshot(one.gateway, exporting(ids[entry % 2]!));
      await replicas.restart(1, true);
      const restarted = replicas.members[1]!;
      expect(liveOf(restarted)).toEqual(["east", "north", "west"]);
      expect(restarted.gateway.behindSince()).toBeUndefined();
      await replicas.settled();
      expect(agree()).toEqual(["east", "north", "west"]);
      expect(eventsOf(restarted)).not.toContain("log-reloaded");
    },
  );

  test.each<[string, (log: MemoryLog) => void]>([
    ["does not go back to their position", (log) => log.trim()],
    [
      "has an entry that cannot be read",
      ({ state: { entries } }) => Object.assign(entries[1]!, { change: undefined }),
    ],
  ])("load everything where the log %s, also while it changes", async (_, spoil) => {
    const { one, other, log } = await start(2, "east");
    other.log.hold();
    for (const name of ["a", "b", "c"])
      await patchCluster(one.gateway, "east", generationOf(one), { namespaces: { [name]: {} } });
    spoil(log);
    other.log.release();
    for (const name of ["d", "e", "f", "g"])
      await patchCluster(one.gateway, "east", generationOf(one), { namespaces: { [name]: {}, a: null } });
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
    expect(other.events).toContainEqual({ event: "log-reloaded", lost: false });
  });

  test("start and follow while one cluster's changes are gone from the log before they are read", async () => {
    const { one, log } = await start(1, "east", "north", "west");
    log.trim();
    let changes = 0;
    const change = async () => {
      if (changes === 9) return;
      await patchCluster(one.gateway, "east", generationOf(one), { namespaces: { [`n${changes++}`]: {} } });
      log.state.entries.splice(-1, 1, { ...log.state.entries.at(-1)!, change: undefined });
      await putSnapshot(one.gateway, { ...exporting("west"), namespaces: { [`n${changes}`]: {}, shop: {} } });
    };
    const connect = log.connect.bind(log);
    log.connect = () => {
      const connection = connect();
      const [rows, whole] = [connection.rows.bind(connection), connection.whole.bind(connection)];
      connection.rows = async function* (cluster) {
        yield* rows(cluster);
        await change();
      };
      connection.whole = async (clusters) => {
        const read = await whole(clusters);
        await change();
        return read;
      };
      return connection;
    };
    const late = await replicas.add();
    await replicas.settled();
    expect(changes).toBe(9);
    expect(agree()).toEqual(["east", "north", "west"]);
    expect(eventsOf(late)).not.toContain("log-not-followed");
  });

  test("load again what is damaged in their own database", async () => {
    const { one, other } = await start(2, "east");
    one.database.exec("UPDATE entry SET text = '{}' WHERE kind = 2");
    const pushing = putSnapshot(one.gateway, { ...exporting("east"), exports: {} });
    await replicas.settled();
    await pushing;
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
    expect([...readerOf(other).all("east", Kind.export)].map(({ texts }) => texts)).toEqual([]);
    expect(one.events).toContainEqual({ event: "log-reloaded", lost: false });
  });

  test.each([
    ["while they run", false, false],
    ["before they start", true, false],
    ["while they run, and the log loses everything", false, true],
    ["before they start, and the log loses everything", true, true],
  ])("go on with other clusters where a cluster's own row is damaged %s", async (_, restarts, isLost) => {
    const { one, log } = await start(1, "east", "west");
    const generation = generationOf(one);
    one.database.exec("UPDATE cluster SET text = '{}' WHERE id = 'west'");
    if (isLost) log.loseEverything();
    if (restarts) await replicas.restart(0, true);
    await replicas.pass(2000);
    const { gateway, events } = replicas.members[0]!;
    await expect(gateway.renew("east", generation)).resolves.toBeDefined();
    expect(events.filter(({ event }) => event === "log-reloaded")).toEqual([
      { event: "log-reloaded", lost: isLost },
    ]);
    expect(agree()).toEqual(isLost ? ["east"] : ["east", "west"]);
    await putSnapshot(gateway, exporting("west"));
    expect(agree()).toEqual(["east", "west"]);
  });

  test("ask the worker of a cluster for a full push whose rows in the log are damaged", async () => {
    const { one, log } = await start(1, "east", "west");
    const generation = generationOf(one);
    log.state.entryRows.get("east")!.delete([...log.state.entryRows.get("east")!.keys()].at(-1)!);
    log.trim();
    const late = await replicas.add();
    await replicas.settled();
    expect(late.events).toContainEqual(expect.objectContaining({ event: "log-damaged", clusterId: "east" }));
    expect(agree()).toEqual(["west"]);
    await expect(one.gateway.renew("east", generation)).rejects.toMatchObject({
      code: "GENERATION_MISMATCH",
    });
    await putSnapshot(one.gateway, exporting("east"));
    await replicas.add();
    await replicas.settled();
    expect(agree()).toEqual(["east", "west"]);
  });

  test("load nothing because of a change that was applied while they asked where the log is", async () => {
    const { one, other } = await start(2, "east");
    other.log.hold();
    await putSnapshot(one.gateway, { ...exporting("east"), exports: {} });
    await replicas.settled();
    await turnUntil(() => other.log.isIdle);
    const head = other.log.head.bind(other.log);
    other.log.head = async (after) => {
      other.log.head = head;
      const asked = await head(after);
      other.log.release();
      await turnUntil(() => other.replica.position === asked.position);
      return asked;
    };
    const pushing = putSnapshot(other.gateway, exporting("east"));
    await turnUntil(() => {
      void replicas.clock.advance(1);
      return other.log.head === head;
    });
    await replicas.pass(3000);
    await pushing;
    expect(agree()).toEqual(["east"]);
    expect(eventsOf(other)).not.toContain("log-reloaded");
  });

  test("find out in turns with queries what a large push changes", async () => {
    const { one } = await start(1);
    const turns = vi.spyOn(replicas.clock, "nextTurn");
    const append = one.log.append.bind(one.log);
    let before = 0;
    one.log.append = (given) => {
      before ||= turns.mock.calls.length;
      return append(given);
    };
    const web = exported({
      headless: true,
      endpoints: endpoints(
        ...Array.from({ length: 5000 }, (_, index) => ({ address: `10.9.${index >> 8}.${index & 255}` })),
      ),
    });
    await putSnapshot(one.gateway, snapshot("east", { exports: { "shop/web": web } }));
    expect(before).toBeGreaterThan(70);
  });

  test("apply a large change in several turns, and load everything after a crash in the middle of it", async () => {
    const { one, other, log } = await start(3);
    const { generation } = await putSnapshot(one.gateway, largeExporter(0, 600));
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
    other.log.hold();
    await putSnapshot(one.gateway, largeExporter(300, 900));
    const { change, position, id } = log.state.entries.at(-1)!;
    const writing = new RowSteps(other.database, new Writer(other.database, () => {}));
    const steps = writing.write(change!, { position, id });
    expect([steps.next().done, steps.next().done]).toEqual([false, false]);
    expect(writing.halfWritten).toBe("east");
    expect(readerOf(other).cluster("east")!.meta!.generation).toBe(generation);
    await replicas.restart(1, true);
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
    const [, restarted, third] = replicas.members as [Member, Member, Member];
    expect(restarted.events).toContainEqual({ event: "log-reloaded", lost: false });
    expect(third.events).toEqual([]);
    expect([...readerOf(restarted).all("east", Kind.export)]).toHaveLength(600);
  });
});

describe("while the log is gone", () => {
  test("pushes are rejected, leases hold for the time that is configured, and answers say that they are stale", async () => {
    replicas = new Replicas();
    const one = await replicas.add({ database: memoryDatabase(), hold: 60_000 });
    const { generation } = await putSnapshot(one.gateway, exporting("east"), { leaseSeconds: 10 });
    one.log.disconnect();
    await replicas.settled();
    await expect(putSnapshot(one.gateway, exporting("west"))).rejects.toMatchObject({ code: "STORE_FAILED" });
    await expect(one.gateway.renew("east", generation)).rejects.toMatchObject({ code: "STORE_FAILED" });
    await replicas.pass(65_000);
    expect(one.gateway.everything.status()).toMatchObject({
      clusters: [{ live: true }],
      storeTrouble: {},
      ready: true,
    });
    expect(one.gateway.everything.status().behindSince).toBeDefined();
    await replicas.pass(10_000);
    expect(one.gateway.everything.status().clusters).toMatchObject([{ live: false }]);
    one.log.reconnect();
    await replicas.pass(3000);
    await putSnapshot(one.gateway, exporting("west"));
    expect(one.gateway.everything.status()).not.toHaveProperty("storeTrouble");
    expect(one.gateway.everything.status()).not.toHaveProperty("behindSince");
    expect(liveOf(one)).toEqual(["west"]);
    expect([...readerOf(one).all("east", Kind.export)]).toHaveLength(1);
  });

  test.each([
    ["entries are not read", "entries"],
    ["nothing says where the log is", "head"],
  ] as const)("answers are stale 5 seconds after the log was last read to its end: %s", async (_, stops) => {
    const { one, clock } = await start(1);
    const { gateway, log } = one;
    await replicas.pass(2000);
    expect(gateway.behindSince()).toBeUndefined();
    const since = clock.now();
    const read = log[stops].bind(log) as (after: number) => Promise<never>;
    const held = Promise.withResolvers<void>();
    log[stops] = async (after: number) => {
      await held.promise;
      return read(after);
    };
    log.wake();
    for (let second = 0; second < 6; second++) {
      await setImmediate();
      log.wake();
      await clock.advance(1000);
    }
    expect(gateway.behindSince()).toBeLessThan(since + 1001);
    log[stops] = read;
    held.resolve();
    await replicas.pass(1000);
    expect(gateway.behindSince()).toBeUndefined();
  });

  test("answers stay stale until all that the log has was applied, not some of it", async () => {
    const { one, other } = await start(2);
    other.log.disconnect();
    await replicas.settled();
    for (const cluster of ["east", "west", "north"]) await putSnapshot(one.gateway, exporting(cluster));
    await replicas.pass(5000);
    const seen = new Map<number, boolean>();
    const entries = other.log.entries.bind(other.log);
    other.log.entries = async (after) => {
      if (other.log.isReachable) seen.set(after, other.replica.trouble !== undefined);
      return (await entries(after)).slice(0, 1);
    };
    other.log.reconnect();
    await replicas.pass(1000);
    expect([...seen]).toEqual([
      [0, true],
      [1, true],
      [2, true],
      [3, false],
    ]);
    expect(eventsOf(other).filter((event) => event.startsWith("log-"))).toEqual([
      "log-not-followed",
      "log-followed-again",
    ]);
  });

  test("or takes no changes, that is said once, and leases hold as well", async () => {
    const { one } = await start(1);
    const { gateway, log } = one;
    const said = () => eventsOf(one).filter((event) => event.startsWith("log-"));
    const { generation } = await putSnapshot(gateway, exporting("east"), { leaseSeconds: 10 });
    log.isFull = true;
    await replicas.pass(60_000);
    await expect(gateway.renew("east", generation)).rejects.toMatchObject({ code: "STORE_FULL" });
    expect(liveOf(one)).toEqual(["east"]);
    expect(said()).toEqual(["log-not-followed"]);
    log.isFull = false;
    await replicas.pass(14_000);
    expect(liveOf(one)).toEqual(["east"]);
    await replicas.pass(4000);
    expect(liveOf(one)).toEqual([]);
    expect(said()).toEqual(["log-not-followed", "log-followed-again"]);
  });

  test.each([
    { leaseSeconds: 10, holdsFor: 14_000, lost: false },
    { leaseSeconds: 10, holdsFor: 14_000, lost: true },
    { leaseSeconds: 30, holdsFor: 29_000, lost: false },
  ])(
    "leases of $leaseSeconds s that ended meanwhile hold for $holdsFor ms afterwards (lost: $lost)",
    async ({ leaseSeconds, holdsFor, lost }) => {
      const { members, one, other } = await start(2);
      const { generation } = await putSnapshot(one.gateway, exporting("east"), { leaseSeconds });
      await putSnapshot(one.gateway, exporting("west"), { leaseSeconds });
      await replicas.settled();
      for (const { log } of members) log.disconnect();
      await replicas.pass(120_000);
      if (lost) replicas.log.loseEverything();
      for (const { log } of members) log.reconnect();
      await replicas.pass(holdsFor);
      expect(agree()).toEqual(["east", "west"]);
      await other.gateway.renew("east", generation, { leaseSeconds });
      await replicas.pass(5000);
      expect(agree()).toEqual(["east"]);
    },
  );

  test("no lease ends that is renewed soon afterwards", async () => {
    const { members, one, other } = await start(2);
    const { generation } = await putSnapshot(one.gateway, exporting("east"), { leaseSeconds: 10 });
    await replicas.settled();
    for (const { log } of members) log.disconnect();
    await replicas.pass(8000);
    for (const { log } of members) log.reconnect();
    await replicas.settled();
    await other.gateway.renew("east", generation, { leaseSeconds: 10 });
    await replicas.pass(8000);
    expect(agree()).toEqual(["east"]);
  });

  test("a refused push makes answers stale until they have what another gateway took instead", async () => {
    const { one, other, clock } = await start(2, "east");
    one.log.disconnect();
    await replicas.settled();
    const settle = one.gateway.arrived("east");
    await expect(putSnapshot(one.gateway, exporting("east"))).rejects.toMatchObject({ code: "STORE_FAILED" });
    settle(false);
    await replicas.pass(10_000);
    await putSnapshot(other.gateway, { ...exporting("east"), namespaces: { newer: {} }, exports: {} });
    expect(one.gateway.everything.status().behindSince).toBeLessThan(clock.now());
    one.log.reconnect();
    await replicas.pass(1000);
    expect(one.gateway.everything.status()).not.toHaveProperty("behindSince");
  });
});
