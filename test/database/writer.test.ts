import { describe, expect, it } from "vitest";
import type { Database } from "../../src/database/driver.ts";
import { Kind } from "../../src/database/places.ts";
import { type Change, NoState } from "../../src/database/prepare.ts";
import { type Damage, Reader } from "../../src/database/reader.ts";
import { DamagedCluster, StaleChange, Writer } from "../../src/database/writer.ts";
import { endpoints, exported, exporting, imported, snapshot } from "../merge/fixtures.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { DRIVERS, openWriter } from "./databases.ts";
import { metaAt, NOON, patchLines, prepare, push, stage, wholeLines } from "./pushing.ts";

const DAY = 86_400_000;

/** Every row, but positions. */
function dump(database: Database): object {
  const all = (sql: string) => database.prepare(sql).all();
  return {
    entries: all(
      "SELECT cluster, kind, name, part, key, text, reported, counts, sum FROM entry ORDER BY 1, 2, 3, 4",
    ),
    clusters: all("SELECT id, text, sum FROM cluster ORDER BY id"),
    log: all("SELECT cluster, generation, kind, keys FROM log ORDER BY position"),
    meta: all("SELECT * FROM meta ORDER BY name"),
  };
}

function ranksOf({ reader }: Writer, cluster: string): object {
  return Object.fromEntries(
    Array.from(reader.all(cluster, Kind.export)).map(({ name, counts }) => [name, counts]),
  );
}

const at = (time: number) => new Date(time).toISOString();
const shop = (cluster: string, exportedAt: number) => exporting(cluster, { exportedAt: at(exportedAt) });

describe.each(DRIVERS.map(([name], driver) => [name, driver] as const))("with %s", (_, driver) => {
  it("names each key of a change in the log, at most 1,000 in a row, and none of a cluster that left", () => {
    const { database, writer } = openWriter(driver);
    const names = Array.from({ length: 1001 }, (_, index) => `n-${index}`);
    const namespaces = Object.fromEntries(names.map((name) => [name, {}]));
    push(writer, "west", "whole", wholeLines(snapshot("west", { namespaces })));
    const left = writer.apply({ kind: "departure", cluster: "west" });
    const rows = writer.reader.changesSince(0)!.map(({ keys }) => keys);
    expect(rows.map((keys) => keys?.length)).toEqual([1000, 1, undefined]);
    expect(rows.flat().slice(0, -1).sort()).toEqual(names.map((name) => `${name}/`).sort());
    expect(left.position).toBe(3);
    database.close();
  });

  it("keeps the newest changes in the log", () => {
    const { database, writer } = openWriter(driver);
    push(writer, "west", "whole", wholeLines(shopSnapshot("west")));
    for (let count = 0; count < 10_600; count++) writer.apply({ kind: "expiry", cluster: "west" });
    const rows = Number(database.prepare("SELECT count(*) AS rows FROM log").get()!.rows);
    expect(rows).toBeGreaterThanOrEqual(10_000);
    expect(rows).toBeLessThan(10_300);
    database.close();
  });

  it("rejects a change that was prepared before another one of the cluster, and takes it after one of another cluster", () => {
    const { database, writer } = openWriter(driver);
    const prepared = (cluster: string) => {
      const staged = stage(writer.reader, cluster, "whole", wholeLines(shopSnapshot(cluster)));
      return prepare(writer, staged, metaAt(NOON), { now: NOON, live: false });
    };
    const [first, second, third] = [prepared("east"), prepared("west"), prepared("west")];
    writer.apply(first!);
    writer.apply(second!);
    const before = dump(database);
    expect(() => writer.apply(third!)).toThrow(StaleChange);
    expect(dump(database)).toEqual(before);
    database.close();
  });

  it("applies a large change in steps: after each of them entries are whole, and a cluster that was not there before does not count yet", () => {
    const { database, writer } = openWriter(driver);
    const names = Array.from({ length: 1500 }, (_, index) => `service-${index}`);
    const exports = Object.fromEntries(names.map((name) => [`shop/${name}`, exported()]));
    const large = snapshot("west", { exports });
    const prepared = (to: Writer) => {
      const staged = stage(to.reader, "west", "whole", wholeLines(large));
      return prepare(to, staged, metaAt(NOON), { now: NOON, live: false });
    };
    const steps = [...writer.applyInSteps(prepared(writer))];
    expect(steps.length).toBeGreaterThan(4);
    expect(steps.map(({ cluster: { state } }) => state)).toEqual([
      ...steps.slice(1).map(() => "arriving"),
      "live",
    ]);
    const atOnce = openWriter(driver);
    atOnce.writer.apply(prepared(atOnce.writer));
    const { entries, clusters } = dump(database) as Record<string, unknown>;
    expect(dump(atOnce.database)).toMatchObject({ entries, clusters });
    const happened = ({ reader }: Writer) =>
      reader.history(9).map(({ kind, count, ranked }) => ({ kind, count, ranked }));
    expect(happened(writer)).toEqual([{ kind: "return", count: 1, ranked: names.length }]);
    expect(happened(writer)).toEqual(happened(atOnce.writer));
    database.close();
  });

  it("compares, ranks and writes few entries at once where all namespaces of a cluster change", () => {
    const { database } = openWriter(driver);
    let read = 0;
    const counting: Database = {
      ...database,
      prepare(sql) {
        const statement = database.prepare(sql);
        return {
          run: (...values) => statement.run(...values),
          get: (...values) => statement.get(...values),
          all: (...values) => {
            const rows = statement.all(...values);
            read += rows.length;
            return rows;
          },
        };
      },
    };
    const writer = new Writer(counting, () => expect.unreachable());
    const numbers = Array.from({ length: 300 }, (_, index) => index);
    const tableOf = <Value>(value: Value) => Object.fromEntries(numbers.map((one) => [`n-${one}`, value]));
    const pods = (one: number) =>
      endpoints(...numbers.slice(0, 20).map((last) => ({ address: `10.${one >> 8}.${one & 255}.${last}` })));
    const exports = Object.fromEntries(
      numbers.map((one) => [`n-${one}/web`, exported({ exportedAt: at(NOON), endpoints: pods(one) })]),
    );
    push(writer, "west", "whole", wholeLines(snapshot("west", { namespaces: tableOf({}), exports })));
    const lines = patchLines("west", { namespaces: tableOf(null) });
    const staged = stage(writer.reader, "west", "changes", lines);
    const steps = writer.prepare(staged, metaAt(NOON + 1), { now: NOON + 1, live: true }, 1000);
    let step: IteratorResult<void, Change>;
    let most = 0;
    do {
      read = 0;
      step = steps.next();
      most = Math.max(most, read);
    } while (step.done !== true);
    expect(most).toBeLessThanOrEqual(16);
    for (const { keys } of writer.applyInSteps(step.value)) {
      const services = keys.filter((key) => key.endsWith("/web"));
      // Each gives up 20 addresses on one basis, and claims them on another one.
      expect(services.length).toBeLessThanOrEqual(2000 / 40);
    }
    expect(ranksOf(writer, "west")).toEqual(
      Object.fromEntries(Object.keys(exports).map((key) => [key, null])),
    );
    expect(writer.reader.isWhole(writer.reader.cluster("west")!)).toBe(true);
    database.close();
  });
});

describe("a damaged row", () => {
  const linesOf = (cluster: string) => {
    const old = exported({ exportedAt: at(NOON - 9) });
    const exports = { "shop/db": old, "shop/web": old };
    return wholeLines(snapshot(cluster, { exports, imports: { "shop/db": imported() } }));
  };
  const damaged = () => {
    const { database, writer } = openWriter();
    writer.start(NOON - 2 * DAY);
    push(writer, "east", "whole", linesOf("east"), { now: NOON, live: false });
    push(writer, "west", "whole", linesOf("west"), { now: NOON + 1000, live: false });
    database
      .prepare(
        "UPDATE entry SET text = replace(text, 'headless', 'headlesx') WHERE cluster = 'east' AND name = 'shop/web'",
      )
      .run();
    return { database, writer };
  };

  it("costs its cluster alone, which pushes in full and keeps its ranks", () => {
    const { database, writer } = damaged();
    const found: Damage[] = [];
    const reader = new Reader(database, (damage) => found.push(damage));
    expect(reader.rowsOf("shop/web").map(({ cluster }) => cluster)).toEqual(["west"]);
    expect(found).toEqual([{ cluster: "east", key: "shop/web" }]);
    const next = linesOf("east");
    const sight = { now: NOON + DAY, live: true };
    expect(() => push(writer, "east", "whole", next, sight)).toThrow(DamagedCluster);
    const applied = writer.apply({ kind: "damage", cluster: "east" });
    expect([applied.cluster.state, applied.isWide]).toEqual(["damaged", true]);
    expect(() => push(writer, "east", "changes", [], sight)).toThrow(NoState);
    push(writer, "east", "whole", next, sight);
    expect(ranksOf(writer, "east")).toEqual({ "shop/db": NOON, "shop/web": NOON - 9 });
    expect(writer.reader.entry("east", Kind.import, "shop/db")!.counts).toBe(NOON);
    push(writer, "east", "whole", wholeLines(shop("east", NOON - 9)), sight);
    expect(writer.reader.cluster("east")!.hasLostRanks).toBeUndefined();
    expect(writer.reader.isWhole(writer.reader.cluster("west")!)).toBe(true);
    database.close();
  });

  it("of the cluster itself is found at the start", () => {
    const { database } = damaged();
    database.prepare("UPDATE cluster SET text = replace(text, 'live', 'left') WHERE id = 'west'").run();
    const found: Damage[] = [];
    const writer = new Writer(database, (damage) => found.push(damage));
    expect(found).toEqual([{ cluster: "west" }]);
    expect(writer.reader.clusters().map(({ id, state }) => [id, state])).toEqual([
      ["east", "live"],
      ["west", "damaged"],
    ]);
    push(writer, "west", "whole", wholeLines(shop("west", NOON)));
    expect(writer.reader.cluster("west")!.state).toBe("live");
    database.close();
  });

  it("that is missing is found by the row of its cluster", () => {
    const { database, writer } = openWriter();
    push(writer, "west", "whole", wholeLines(shopSnapshot("west")));
    expect(writer.reader.isWhole(writer.reader.cluster("west")!)).toBe(true);
    database.prepare("DELETE FROM claim WHERE cluster = 'west'").run();
    expect(writer.reader.isWhole(writer.reader.cluster("west")!)).toBe(false);
    push(writer, "east", "whole", wholeLines(shopSnapshot("east")));
    database.prepare("DELETE FROM entry WHERE name = 'shop/web'").run();
    expect(writer.reader.isWhole(writer.reader.cluster("east")!)).toBe(false);
    database.close();
  });
});

it("before a clock is set nothing has a rank, and everything has one afterwards", () => {
  const { database, writer } = openWriter();
  push(writer, "west", "whole", wholeLines(shop("west", NOON)), { now: 5, live: false });
  expect([ranksOf(writer, "west"), writer.reader.cluster("west")!.isUnranked]).toEqual([
    { "shop/web": null },
    true,
  ]);
  push(writer, "west", "changes", [], { now: NOON + 5, live: true });
  expect([ranksOf(writer, "west"), writer.reader.cluster("west")!.isUnranked]).toEqual([
    { "shop/web": NOON },
    undefined,
  ]);
  database.close();
});

it("notes what happened by minute, the newest of each cluster, however often another one changes", () => {
  let now = NOON;
  const database = DRIVERS[0]![1]();
  const writer = new Writer(
    database,
    () => expect.unreachable(),
    () => now,
  );
  const sight = { now: NOON, live: true };
  for (const cluster of ["west", "east"])
    push(writer, cluster, "whole", wholeLines(shop(cluster, NOON - 9)), sight);
  for (let change = 0; change < 100; change++) {
    const web = { endpoints: endpoints({ address: "10.0.0.1", ready: change % 2 === 0 }) };
    push(writer, "east", "changes", patchLines("east", { exports: { "shop/web": web } }), sight);
    // A renewal is none.
    push(writer, "east", "changes", [], sight);
    now += 30_000;
  }
  const all = writer.reader.history(1000);
  const web = { keys: ["shop/web"] };
  const at = now - 30_000;
  expect(all[0]).toEqual({ ...web, clusterId: "east", kind: "changes", count: 2, ranked: 0, at });
  expect(all.filter(({ clusterId }) => clusterId === "east")).toHaveLength(30);
  const first = { ...web, clusterId: "west", kind: "return", count: 1, ranked: 1, at: NOON };
  expect(all.at(-1)).toEqual(first);
  expect(writer.reader.history(5, (id) => id === "west")).toEqual([first]);
  writer.apply({ kind: "departure", cluster: "west" });
  expect(writer.reader.history(1)[0]).toMatchObject({ ...web, clusterId: "west", kind: "departure" });
  database.close();
});
