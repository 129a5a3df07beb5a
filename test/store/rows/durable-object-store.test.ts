import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { charactersOf, unpack } from "../../../src/snapshot/held/packed-entry.ts";
import { COLLECTIONS, SINGLES } from "../../../src/snapshot/parse.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { ROWS_VERSION, readState, stateRow } from "../../../src/store/rows/cluster-state.ts";
import { createDurableObjectStore } from "../../../src/store/rows/durable-object-store.ts";
import { DamagedRow, RowTable } from "../../../src/store/rows/row-table.ts";
import type { SqlDatabase } from "../../../src/store/rows/sql-database.ts";
import type { SnapshotStore, StoreChange } from "../../../src/store/store.ts";
import type { StoreWarning } from "../../../src/store/store-error.ts";
import { emptySnapshot, headlessExport, shopSnapshot, snapshots } from "../../snapshot/worlds.ts";
import { listAll, loadAll, metaOf, patchTo, snapshotOf, wholeOf } from "../changes.ts";
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
  store.keep(clusterId, wholeOf(snapshotOf(clusterId, generation), metaOf(generation)));

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

/** The names of the rows of "west", and how many parts each has. */
const rowsOf = (database: SqlDatabase) =>
  Object.fromEntries(
    database.sql
      .exec("SELECT name, count(*) AS parts FROM cluster_rows WHERE cluster_id = 'west' GROUP BY name")
      .toArray()
      .map(({ name, parts }) => [name, parts]),
  );

/** A database that counts the rows that are written, as Cloudflare bills them. */
function billedDatabase() {
  const database = sqliteDouble();
  const bill = { rows: 0 };
  const { sql } = database;
  const changes = () => Number(sql.exec("SELECT total_changes() AS rows").toArray()[0]!.rows);
  const billed: SqlDatabase = {
    transactionSync: (change) => {
      const before = changes();
      const result = database.transactionSync(change);
      bill.rows += changes() - before;
      return result;
    },
    sql,
  };
  return { database: billed, bill };
}

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
    ["a body", "UPDATE cluster_rows SET body = CAST(substr(body, 1, length(body) - 3) AS BLOB)"],
    [
      "a byte of a body",
      "UPDATE cluster_rows SET body = CAST(substr(body, 1, 1) || x'00' || substr(body, 3) AS BLOB)",
    ],
    ["a digest", "UPDATE cluster_rows SET digest = zeroblob(32)"],
    ["a number of parts", "UPDATE cluster_rows SET parts = parts + 1"],
    ["a body that is text", "UPDATE cluster_rows SET body = 'text'"],
    ["a name", "UPDATE cluster_rows SET name = name || 'x'"],
    ["the whole row", "DELETE FROM cluster_rows"],
  ] as const;
  const rows = ["exports/shop/web", "namespaces#", "topology", "@state"];

  test.each(alterations.flatMap(([what, change]) => rows.map((row) => [what, row, change] as const)))(
    "%s of %s: that cluster alone is lost, and taken again",
    async (_, row, change) => {
      const database = await patchedDatabase(3);
      database.sql.exec(`${change} WHERE cluster_id = 'west' AND name LIKE '${row}%'`);
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

  test("a renewal: the lease before it counts", async () => {
    const database = await patchedDatabase(1);
    const { store } = openCollecting(database);
    await store.keep("west", { kind: "lease", meta: metaOf(1, 99_999) });
    expect((await loadOnce(database)).clusters.west?.meta).toEqual(metaOf(1, 99_999));
    database.sql.exec("UPDATE cluster_rows SET digest = zeroblob(32) WHERE name = '@lease'");
    expect((await loadOnce(database)).clusters.west?.meta).toEqual(metaOf(1));
  });

  test("rows of one cluster are not taken for another's", async () => {
    const database = await patchedDatabase(1);
    database.sql.exec("UPDATE cluster_rows SET cluster_id = 'north' WHERE cluster_id = 'west'");
    const { clusters, warnings } = await loadOnce(database);
    expect(Object.keys(clusters)).toEqual(["east"]);
    expect(warnings).toMatchObject([{ code: "CORRUPT_SNAPSHOT", clusterId: "north" }]);
  });

  test("a part of an entry of several rows is missing, or in another place", async () => {
    for (const damage of [
      "DELETE FROM cluster_rows WHERE part = 1",
      "UPDATE cluster_rows SET part = 9 WHERE part = 1",
    ]) {
      const database = sqliteDouble();
      const { store } = openCollecting(database);
      await store.keep("west", wholeOf(shopSnapshot("west", 15_000), metaOf(1)));
      expect(rowsOf(database)["exports/shop/web"]).toBe(2);
      expect((await loadOnce(database)).clusters.west?.snapshot).toEqual(shopSnapshot("west", 15_000));
      database.sql.exec(damage);
      const { clusters, codes } = await loadOnce(database);
      expect(clusters).toEqual({});
      expect(codes).toEqual(["CORRUPT_SNAPSHOT"]);
    }
  });

  test("a delta on a damaged row is rejected and reported, and the next snapshot of the cluster is kept", async () => {
    const database = await patchedDatabase(2);
    const { store, warnings } = openCollecting(database);
    await listAll(store);
    database.sql.exec("UPDATE cluster_rows SET body = zeroblob(9) WHERE name = 'topology'");
    await expect(keepPatch(store, 2, 3)).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
    expect(warnings).toMatchObject([{ code: "CORRUPT_SNAPSHOT", clusterId: "west" }]);
    await keepSnapshot(store, "west", 4);
    expect((await loadOnce(database)).clusters.west).toEqual({
      meta: metaOf(4),
      snapshot: snapshotOf("west", 4),
    });
  });
});

describe("loading", () => {
  const keys = Array.from({ length: 150 }, (_, index) => `shop/service-${index + 100}`);
  const many = {
    ...emptySnapshot("west"),
    namespaces: { shop: {} },
    exports: Object.fromEntries(keys.map((key) => [key, headlessExport(1)])),
  };

  test("gives clusters without their entries, which are read one by one", async () => {
    const database = sqliteDouble();
    await openCollecting(database).store.keep("west", wholeOf(many, metaOf(1)));
    const { store, warnings } = openCollecting(database);
    for await (const cluster of store.load()) expect(cluster).toEqual({ clusterId: "west", meta: metaOf(1) });
    expect([...store.entries!("west").keys("exports")]).toEqual(keys);
    expect(warnings).toEqual([]);
  });

  const invalidFor = (key: string) => JSON.stringify({ [key]: { ...headlessExport(1), headless: "yes" } });

  /** A database with "west", validated with a version, and with a sound row whose entry is not valid. */
  async function withInvalid(key: string, version: number) {
    const database = sqliteDouble();
    const { store } = openCollecting(database);
    await store.keep("west", wholeOf(many, metaOf(1)));
    await keepSnapshot(store, "east", 1);
    const table = new RowTable(database);
    const state = { ...readState(table, "west"), version };
    const invalid = table.encode("west", `exports/${key}`, invalidFor(key));
    table.change("west", [invalid, stateRow(table, "west", state)]);
    return database;
  }

  test.each([keys[0]!, keys[63]!, keys[64]!, keys.at(-1)!])(
    "rejects a cluster with a sound row of another version whose entry is not valid: %s",
    async (key) => {
      const { clusters, warnings } = await loadOnce(await withInvalid(key, ROWS_VERSION - 1));
      expect(Object.keys(clusters)).toEqual(["east"]);
      expect(warnings).toEqual([expect.objectContaining({ code: "CORRUPT_SNAPSHOT", clusterId: "west" })]);
      expect(warnings[0]!.message).toContain(key);
    },
  );

  test("takes sound rows of this version as they are: they were validated when they were pushed", async () => {
    const { clusters, warnings } = await loadOnce(await withInvalid(keys[0]!, ROWS_VERSION));
    expect(Object.keys(clusters)).toEqual(["east", "west"]);
    expect(warnings).toEqual([]);
  });

  test.each([
    ["a delta", (to: ClusterSnapshot) => patchTo(many, to, metaOf(2))],
    ["a snapshot", (to: ClusterSnapshot) => wholeOf(to, metaOf(2))],
  ])("notes with the next push, %s, that it has validated rows of another version", async (_, changeTo) => {
    const database = sqliteDouble();
    const table = new RowTable(database);
    await openCollecting(database).store.keep("west", wholeOf(many, metaOf(1)));
    table.change("west", [stateRow(table, "west", { ...readState(table, "west"), version: 0 })]);
    const { store } = openCollecting(database);
    await listAll(store);
    expect(readState(table, "west").version).toBe(0);
    await store.keep("west", changeTo({ ...many, namespaces: { shop: {}, bar: {} } }));
    expect(readState(table, "west").version).toBe(ROWS_VERSION);
  });

  test("a delta on rows of another version, which were not loaded, does not count as their validation", async () => {
    const database = sqliteDouble();
    const table = new RowTable(database);
    await openCollecting(database).store.keep("west", wholeOf(many, metaOf(1)));
    table.change("west", [stateRow(table, "west", { ...readState(table, "west"), version: 0 })]);
    const next = { ...many, namespaces: { shop: {}, bar: {} } };
    await openCollecting(database).store.keep("west", patchTo(many, next, metaOf(2)));
    expect(readState(table, "west").version).toBe(0);
  });

  test("the schema of snapshots is that of this version", () => {
    const schema = readFileSync("docs/reference/schema/cluster-snapshot.json", "utf8");
    const rules = JSON.parse(schema, (name, value) =>
      name === "description" && typeof value === "string" ? undefined : value,
    );
    const hash = createHash("sha256").update(JSON.stringify(rules)).digest("hex").slice(0, 16);
    // If it rejects now what it accepted, raise `ROWS_VERSION`: otherwise stored rows would not be validated again. Then write its new hash here.
    expect([ROWS_VERSION, hash]).toEqual([1, "b31ef79809a541b7"]);
  });
});

describe("rows are few and below the limit of 2 MB", () => {
  /** 300 services, and pods enough to share rows. */
  function largeSnapshot(services: number, pods: number): ClusterSnapshot {
    const names = (count: number, name: (index: number) => string) =>
      Array.from({ length: count }, (_, at) => name(at));
    return {
      ...shopSnapshot("west"),
      exports: Object.fromEntries(
        names(services, (at) => `shop/web-${at}`).map((key) => [key, headlessExport(2)]),
      ),
      pods: Object.fromEntries(
        names(pods, (at) => `shop/10.0.${at >> 8}.${at & 255}`).map((key) => [key, {}]),
      ),
    };
  }

  test("a delta is billed for the rows that it changes and one, a renewal for one, a full push for what differs", async () => {
    const { database, bill } = billedDatabase();
    const { store } = openCollecting(database);
    const before = largeSnapshot(300, 0);
    const after = { ...before, exports: { ...before.exports, "shop/web-7": headlessExport(3) } };
    const billed = async (change: StoreChange) => {
      bill.rows = 0;
      await store.keep("west", change);
      return bill.rows;
    };
    expect(await billed(wholeOf(before, metaOf(1)))).toBe(302);
    expect(await billed(patchTo(before, after, metaOf(2)))).toBe(2);
    expect(await billed({ kind: "lease", meta: metaOf(2, 9) })).toBe(1);
    expect(await billed({ kind: "lease", meta: metaOf(2, 10) })).toBe(1);
    expect(await billed(wholeOf(after, metaOf(3)))).toBe(1);
    expect(await billed(wholeOf(before, metaOf(4)))).toBe(2);
    const { "shop/web-9": _, ...fewer } = before.exports;
    expect(await billed(wholeOf({ ...before, exports: fewer }, metaOf(5)))).toBe(2);
    expect((await loadOnce(database)).clusters.west?.snapshot).toEqual({ ...before, exports: fewer });
  });
});

describe("a reader", () => {
  test("has every entry and single value of any state, by key, after any deltas, as loading has them", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(snapshots, { minLength: 1, maxLength: 4 }), async (states) => {
        const database = sqliteDouble();
        const { store } = openCollecting(database);
        const changes = states.map((state, index) =>
          index === 0 ? wholeOf(state, metaOf(1)) : patchTo(states[index - 1]!, state, metaOf(index + 1)),
        );
        for (const change of changes) await store.keep("west", change);
        const { store: restarted } = openCollecting(database);
        expect(restarted.metas()).toEqual(new Map([["west", metaOf(states.length)]]));
        const reader = restarted.entries("west");
        const last = states.at(-1)!;
        for (const collection of COLLECTIONS) {
          const keys = [...reader.keys(collection)];
          expect(keys.toSorted()).toEqual(Object.keys(last[collection]).toSorted());
          for (const key of keys) {
            const entry = last[collection][key];
            expect(reader.entry(collection, key)).toEqual(entry);
            expect(unpack(reader.packed(collection, key)!)).toEqual(entry);
            expect(charactersOf(reader.packed(collection, key)!)).toBe(JSON.stringify(entry).length);
            expect(reader.has(collection, key)).toBe(true);
          }
          for (const none of ["none/none", "__proto__"]) {
            expect(reader.entry(collection, none)).toBeUndefined();
            expect(reader.packed(collection, none)).toBeUndefined();
            expect(reader.has(collection, none)).toBe(false);
          }
        }
        for (const name of SINGLES) expect(reader.single(name)).toEqual(last[name]);
        expect((await loadAll(restarted)).west?.snapshot).toEqual(last);
      }),
      { numRuns: 50 },
    );
  });

  test("reads what was written since", async () => {
    const { store } = openCollecting(sqliteDouble());
    const reader = store.entries("west");
    expect(reader.has("namespaces", "shop")).toBe(false);
    await keepSnapshot(store, "west", 1);
    expect(reader.has("namespaces", "shop")).toBe(true);
    await keepPatch(store, 1, 2);
    expect(reader.entry("exports", "shop/web")).toEqual(snapshotOf("west", 2).exports["shop/web"]);
  });

  test("throws for a damaged row and says so, and reads the others", async () => {
    const database = await patchedDatabase(2);
    database.sql.exec("UPDATE cluster_rows SET digest = zeroblob(32) WHERE name = 'exports/shop/web'");
    const warnings: StoreWarning[] = [];
    let damaged = 0;
    const reader = createDurableObjectStore(database, {
      onWarning: (warning) => warnings.push(warning),
      onDamagedEntry: () => damaged++,
    }).entries("west");
    expect(() => reader.entry("exports", "shop/web")).toThrow(DamagedRow);
    expect(() => reader.packed("exports", "shop/web")).toThrow(DamagedRow);
    expect(warnings).toMatchObject([{ code: "CORRUPT_SNAPSHOT" }, { code: "CORRUPT_SNAPSHOT" }]);
    expect(damaged).toBe(2);
    expect(reader.single("topology")).toEqual(snapshotOf("west", 2).topology);
  });
});

describe("what cannot be kept is not acknowledged, and loses nothing", () => {
  test("snapshots that do not fit into the memory together", async () => {
    const database = sqliteDouble();
    const measured = sqliteDouble();
    await keepSnapshot(openCollecting(measured).store, "west", 1);
    const [one] = measured.sql
      .exec("SELECT sum(length(body)) AS characters FROM cluster_rows WHERE name NOT LIKE '@%'")
      .toArray();
    const { store } = openCollecting(database, Number(one?.characters) * 2 + 100);
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
          if (failing && bindings.includes("@state")) throw new Error("the disk is full");
          return database.sql.exec(query, ...bindings);
        },
      },
    });
    await listAll(store);
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
          if (query.includes("SELECT cluster_id FROM")) throw new Error("the database is malformed");
          return database.sql.exec(query, ...bindings);
        },
      },
    });
    await expect(listAll(store)).rejects.toThrow("malformed");
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
