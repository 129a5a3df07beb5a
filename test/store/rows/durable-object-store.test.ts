import { describe, expect, test } from "vitest";
import { createDurableObjectStore } from "../../../src/store/rows/durable-object-store.ts";
import type { SqlDatabase } from "../../../src/store/rows/sql-database.ts";
import type { SnapshotStore } from "../../../src/store/store.ts";
import type { StoreWarning } from "../../../src/store/store-error.ts";
import { headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { loadAll, metaOf, patchTo, snapshotOf } from "../changes.ts";
import { describeStore } from "../contract.ts";
import { sqliteDouble } from "./sqlite-double.ts";

function openCollecting(database: SqlDatabase, mostCharacters?: number) {
  const warnings: StoreWarning[] = [];
  const store = createDurableObjectStore(database, {
    onWarning: (warning) => warnings.push(warning),
    ...(mostCharacters !== undefined && { mostCharacters }),
  });
  return { store, warnings };
}

async function loadOnce(database: SqlDatabase) {
  const { store, warnings } = openCollecting(database);
  const clusters = await loadAll(store);
  return { store, clusters, warnings, codes: warnings.map(({ code }) => code) };
}

const keepSnapshot = (store: SnapshotStore, clusterId: string, generation: number) =>
  store.keep(clusterId, {
    kind: "snapshot",
    snapshot: snapshotOf(clusterId, generation),
    meta: metaOf(generation),
  });

const keepPatch = (store: SnapshotStore, from: number, to: number) =>
  store.keep("west", patchTo(snapshotOf("west", from), snapshotOf("west", to), metaOf(to)));

/** A database in which "west" was pushed once and patched up to `generations`, beside an "east" of one push. */
async function patchedDatabase(generations: number) {
  const database = sqliteDouble();
  const { store } = openCollecting(database);
  await keepSnapshot(store, "west", 1);
  for (let next = 2; next <= generations; next++) await keepPatch(store, next - 1, next);
  await keepSnapshot(store, "east", 1);
  return database;
}

/** A snapshot that takes several rows: random names do not compress. */
function largeSnapshot(clusterId: string) {
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 48271) % 2147483647) >>> 0;
    return seed.toString(36);
  };
  const annotation = Array.from({ length: 40_000 }, random).join("");
  const exports = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [
      `shop/web-${index}`,
      { ...headlessExport(1), exportedAnnotations: { text: `${index}${annotation}`.slice(0, 262_144) } },
    ]),
  );
  return { ...shopSnapshot(clusterId), exports };
}

const rowsOf = (database: SqlDatabase, kind: string) =>
  database.sql
    .exec("SELECT number FROM cluster_records WHERE cluster_id = 'west' AND kind = ?", kind)
    .toArray().length;

describeStore("Durable Object", async () => {
  const database = sqliteDouble();
  const open = () =>
    createDurableObjectStore(database, { onWarning: (warning) => expect.fail(warning.message) });
  return {
    store: open(),
    async reopen(opened) {
      await opened.close();
      return open();
    },
  };
});

describe("a row that is torn, altered or gone", () => {
  const alterations = [
    ["a body", "body = CAST(substr(body, 1, length(body) - 3) AS BLOB)"],
    ["an octet of a body", "body = CAST(substr(body, 1, 40) || x'00' || substr(body, 42) AS BLOB)"],
    ["a digest", "digest = zeroblob(32)"],
    ["a series", "series = series + 1"],
    ["a count", "of = of + 1"],
    ["a body that is text", "body = 'text'"],
  ] as const;

  test.each(alterations)(
    "%s of a snapshot: that cluster alone is lost, and taken again",
    async (_, change) => {
      const database = await patchedDatabase(3);
      database.sql.exec(
        `UPDATE cluster_records SET ${change} WHERE cluster_id = 'west' AND kind = 'snapshot'`,
      );
      const { store, clusters, warnings } = await loadOnce(database);
      expect(clusters).toEqual({ east: { meta: metaOf(1), snapshot: snapshotOf("east", 1) } });
      expect(warnings).toMatchObject([{ code: "CORRUPT_SNAPSHOT", clusterId: "west" }]);
      await expect(store.keep("west", { kind: "lease", meta: metaOf(3) })).rejects.toThrow(/west/);
      await keepSnapshot(store, "west", 8);
      const after = await loadOnce(database);
      expect(after.clusters.west).toEqual({ meta: metaOf(8), snapshot: snapshotOf("west", 8) });
      expect(after.codes).toEqual([]);
    },
  );

  test.each(alterations)(
    "%s of a delta: what is before it loads, and changes after it are kept",
    async (_, change) => {
      for (const number of [0, 1, 3]) {
        const database = await patchedDatabase(5);
        database.sql.exec(
          `UPDATE cluster_records SET ${change} WHERE cluster_id = 'west' AND kind = 'patch' AND number = ${number}`,
        );
        const { store, clusters, codes } = await loadOnce(database);
        const generation = number + 1;
        expect(clusters.west).toEqual({ meta: metaOf(generation), snapshot: snapshotOf("west", generation) });
        // A last delta that says it is of another series is one of those that are written over.
        if (!(change.startsWith("series") && number === 3)) expect(codes).toEqual(["CORRUPT_JOURNAL"]);
        await store.keep("west", { kind: "lease", meta: metaOf(generation, 77_777) });
        expect((await loadOnce(database)).clusters.west?.meta).toEqual(metaOf(generation, 77_777));
        await keepPatch(store, generation, 9);
        await keepPatch(store, 9, 10);
        const after = await loadOnce(database);
        expect(after.clusters.west).toEqual({ meta: metaOf(10), snapshot: snapshotOf("west", 10) });
        expect(after.codes).toEqual([]);
      }
    },
  );

  test("a missing delta ends the replay before it", async () => {
    const database = await patchedDatabase(5);
    database.sql.exec("DELETE FROM cluster_records WHERE kind = 'patch' AND number = 1");
    const { clusters, warnings } = await loadOnce(database);
    expect(clusters.west?.meta.generation).toBe(2);
    expect(warnings[0]?.message).toMatch(/cut after 1 of 3 deltas/);
  });

  test("a renewal: the lease before it counts", async () => {
    const database = await patchedDatabase(1);
    const { store } = openCollecting(database);
    await store.keep("west", { kind: "lease", meta: metaOf(1, 99_999) });
    expect((await loadOnce(database)).clusters.west?.meta).toEqual(metaOf(1, 99_999));
    database.sql.exec("UPDATE cluster_records SET digest = zeroblob(32) WHERE kind = 'lease'");
    expect((await loadOnce(database)).clusters.west?.meta).toEqual(metaOf(1));
  });

  test("rows of one cluster are not taken for another's", async () => {
    const database = await patchedDatabase(1);
    database.sql.exec("UPDATE cluster_records SET cluster_id = 'north' WHERE cluster_id = 'west'");
    const { clusters, warnings } = await loadOnce(database);
    expect(Object.keys(clusters)).toEqual(["east"]);
    expect(warnings).toMatchObject([{ code: "CORRUPT_SNAPSHOT", clusterId: "north" }]);
  });

  test("a part of a snapshot of several rows is missing, or of another snapshot", async () => {
    for (const damage of [
      "DELETE FROM cluster_records WHERE kind = 'snapshot' AND number = 1",
      "UPDATE cluster_records SET number = 9 WHERE kind = 'snapshot' AND number = 1",
    ]) {
      const database = sqliteDouble();
      const { store } = openCollecting(database);
      await store.keep("west", { kind: "snapshot", snapshot: largeSnapshot("west"), meta: metaOf(1) });
      expect(rowsOf(database, "snapshot")).toBeGreaterThan(1);
      expect((await loadOnce(database)).clusters.west?.snapshot).toEqual(largeSnapshot("west"));
      database.sql.exec(damage);
      const { clusters, codes } = await loadOnce(database);
      expect(clusters).toEqual({});
      expect(codes).toEqual(["CORRUPT_SNAPSHOT"]);
    }
  });
});

describe("rows are few and below the limit of 2 MB", () => {
  test("a smaller snapshot leaves no parts of a larger one behind", async () => {
    const database = sqliteDouble();
    const { store } = openCollecting(database);
    await store.keep("west", { kind: "snapshot", snapshot: largeSnapshot("west"), meta: metaOf(1) });
    const [longest] = database.sql.exec("SELECT max(length(body)) AS octets FROM cluster_records").toArray();
    expect(Number(longest?.octets)).toBeLessThanOrEqual(1024 * 1024);
    await keepSnapshot(store, "west", 2);
    expect(rowsOf(database, "snapshot")).toBe(1);
    expect((await loadOnce(database)).clusters.west?.meta).toEqual(metaOf(2));
  });

  test("a delta beyond a row's length is kept as a snapshot", async () => {
    const database = await patchedDatabase(2);
    const { store } = openCollecting(database);
    const change = patchTo(snapshotOf("west", 2), largeSnapshot("west"), metaOf(3));
    await store.keep("west", change);
    expect(rowsOf(database, "patch")).toBe(1);
    const { clusters, codes } = await loadOnce(database);
    expect(clusters.west).toEqual({ meta: metaOf(3), snapshot: largeSnapshot("west") });
    expect(codes).toEqual([]);
  });

  test("deltas are folded when they outgrow the snapshot, and the rows are used again", async () => {
    const database = sqliteDouble();
    const { store } = openCollecting(database);
    await keepSnapshot(store, "west", 1);
    for (let next = 2; next <= 2500; next++) {
      await keepPatch(store, next - 1, next);
      if (next % 100 === 0) await store.keep("west", { kind: "lease", meta: metaOf(next, next) });
    }
    expect(rowsOf(database, "patch")).toBeLessThanOrEqual(1000);
    expect(rowsOf(database, "lease")).toBe(1);
    const { clusters, codes } = await loadOnce(database);
    expect(clusters.west).toEqual({ meta: metaOf(2500, 2500), snapshot: snapshotOf("west", 2500) });
    expect(codes).toEqual([]);
  });
});

describe("what cannot be kept is not acknowledged, and loses nothing", () => {
  test("snapshots that do not fit into the memory together", async () => {
    const database = sqliteDouble();
    const oneSnapshot = JSON.stringify({ meta: metaOf(1), snapshot: snapshotOf("west", 1) }).length;
    const { store } = openCollecting(database, oneSnapshot * 2 + 100);
    await keepSnapshot(store, "west", 1);
    await keepSnapshot(store, "east", 1);
    await expect(keepSnapshot(store, "north", 1)).rejects.toMatchObject({ code: "STORE_FULL" });
    const larger = patchTo(snapshotOf("west", 1), shopSnapshot("west", 20), metaOf(2));
    await expect(store.keep("west", larger)).rejects.toMatchObject({ code: "STORE_FULL" });
    const { clusters } = await loadOnce(database);
    expect(Object.keys(clusters).sort()).toEqual(["east", "west"]);
    expect(clusters.west?.meta).toEqual(metaOf(1));
    await keepPatch(store, 1, 3);
    await store.remove("east");
    await keepSnapshot(store, "north", 1);
  });

  test("a write that fails half-way", async () => {
    const database = await patchedDatabase(2);
    let failing = false;
    const { store } = openCollecting({
      transactionSync: (change) => database.transactionSync(change),
      sql: {
        exec(query, ...bindings) {
          if (failing && query.startsWith("DELETE")) throw new Error("the disk is full");
          return database.sql.exec(query, ...bindings);
        },
      },
    });
    await store.load();
    failing = true;
    await expect(keepSnapshot(store, "west", 5)).rejects.toThrow("the disk is full");
    expect((await loadOnce(database)).clusters.west?.meta).toEqual(metaOf(2));
    failing = false;
    await keepPatch(store, 2, 3);
    expect((await loadOnce(database)).clusters.west?.meta).toEqual(metaOf(3));
  });

  test("a table that cannot be read is an error, not an empty store", async () => {
    const database = await patchedDatabase(1);
    const { store } = openCollecting({
      ...database,
      sql: {
        exec(query, ...bindings) {
          if (query.includes("SELECT DISTINCT")) throw new Error("the database is malformed");
          return database.sql.exec(query, ...bindings);
        },
      },
    });
    await expect(store.load()).rejects.toThrow("malformed");
    await expect(keepSnapshot(store, "west", 5)).rejects.toThrow("malformed");
    expect((await loadOnce(database)).clusters.west?.meta).toEqual(metaOf(1));
  });

  test("a closed store refuses changes, and a name that is no cluster id has no rows", async () => {
    const { store } = openCollecting(sqliteDouble());
    await expect(keepSnapshot(store, "../west", 1)).rejects.toThrow(RangeError);
    await store.close();
    await expect(keepSnapshot(store, "west", 1)).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });
});
