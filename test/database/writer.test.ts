import { describe, expect, it } from "vitest";
import type { Database, Statement } from "../../src/database/driver.ts";
import { Kind, podsKey } from "../../src/database/places.ts";
import { type Change, NoState } from "../../src/database/prepare.ts";
import { type Damage, Reader } from "../../src/database/reader.ts";
import { DamagedCluster, StaleChange, Writer } from "../../src/database/writer.ts";
import { exported, imported, snapshot } from "../merge/fixtures.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { DRIVERS, openWriter } from "./databases.ts";
import {
  metaAt,
  NOON,
  patchLines,
  prepare,
  push,
  snapshotOf,
  stage,
  totalsOf,
  wholeLines,
} from "./pushing.ts";

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
const shop = (cluster: string, exportedAt: number) =>
  snapshot(cluster, {
    namespaces: { shop: {} },
    exports: { "shop/web": exported({ exportedAt: at(exportedAt) }) },
  });

describe.each(DRIVERS.map(([name], driver) => [name, driver] as const))("with %s", (_, driver) => {
  it("a lease that ends takes no entry away, and a renewal brings its cluster back", () => {
    const { database, writer } = openWriter(driver);
    push(writer, "west", "whole", wholeLines(shopSnapshot("west")));
    const expired = writer.apply({ kind: "expiry", cluster: "west" });
    expect([expired.cluster.state, expired.keys, expired.isWide]).toEqual(["expired", [], true]);
    expect(writer.reader.rowsOf("shop/web")).toHaveLength(1);
    const renewed = push(writer, "west", "changes", [], { now: NOON + 1, live: false });
    expect([renewed.cluster.state, renewed.keys, renewed.isWide]).toEqual(["live", [], true]);
    const again = push(writer, "west", "changes", [], { now: NOON + 2, live: true });
    expect([again.position, again.isWide]).toEqual([renewed.position, false]);
    database.close();
  });

  it("a departure takes all entries away, and a push after it the ranks of what it lacks", () => {
    const { database, writer } = openWriter(driver);
    writer.start(NOON - 2 * DAY);
    push(writer, "east", "whole", wholeLines(shop("east", NOON - 5)), { now: NOON, live: false });
    const left = writer.apply({ kind: "departure", cluster: "east" });
    expect([left.cluster.state, left.keys, left.isWide]).toEqual(["left", ["shop/web"], true]);
    expect(writer.reader.rowsOf("shop/web")).toEqual([]);
    expect(ranksOf(writer, "east")).toEqual({ "shop/web": NOON });
    const later = { now: NOON + DAY, live: false };
    expect(() => push(writer, "east", "changes", [], later)).toThrow(NoState);
    push(writer, "east", "whole", wholeLines(shop("east", NOON - 5)), later);
    expect(ranksOf(writer, "east")).toEqual({ "shop/web": NOON });
    push(writer, "east", "whole", wholeLines(snapshot("east")), later);
    expect(ranksOf(writer, "east")).toEqual({});
    expect(writer.reader.isWhole(writer.reader.cluster("east")!)).toBe(true);
    database.close();
  });

  it("the log names the keys of what changed, and what it concerns", () => {
    const { database, writer } = openWriter(driver);
    const base = { ...shopSnapshot("west"), pods: { "shop/10.0.0.1": {} } };
    push(writer, "west", "whole", wholeLines(base));
    const endpoints = { "http/TCP/8080": { members: { "10.0.0.1": { ready: false } } } };
    const change = (patch: object) => push(writer, "west", "changes", patchLines("west", patch as never));
    const owned = { serviceType: "ExternalName", ownedName: "a.b.Web", externalName: "x.", endpoints: {} };
    const local = { ...owned, createdAt: at(NOON), headless: false, ports: [] };
    const applied = [
      change({ exports: { "shop/web": { endpoints } } }),
      change({ namespaces: { other: {} } }),
      change({ services: { "shop/alias": local } }),
      change({ services: { "shop/alias": { ownedName: "a.db" } } }),
      change({ pods: { "shop/fd00:0::1": {} } }),
      change({ topology: { region: "eu" } }),
    ];
    expect(applied.map(({ keys, isWide }) => [keys, isWide])).toEqual([
      [["shop/web", "@0a00000"], false],
      [["other/"], true],
      [["shop/web"], false],
      [["shop/web", "shop/db"], false],
      [[podsKey("shop/fd00::1")], false],
      [[""], true],
    ]);
    const log = writer.reader.changesSince(1)!;
    expect(log.map(({ keys }) => keys)).toEqual(applied.map(({ keys }) => keys));
    expect(
      writer.reader
        .changesSince(0)!
        .map(({ kind }) => kind)
        .slice(0, 2),
    ).toEqual(["return", "changes"]);
    const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`n-${index}`, {}]));
    expect(change({ namespaces: many }).keys).toHaveLength(1001);
    const rows = writer.reader.changesSince(log.at(-1)!.position)!;
    expect(rows.map(({ keys }) => keys!.length)).toEqual([1000, 1]);
    expect(rows.flatMap(({ keys }) => keys).sort()).toEqual(
      Object.keys(many)
        .map((name) => `${name}/`)
        .sort(),
    );
    const left = writer.apply({ kind: "departure", cluster: "west" });
    expect(writer.reader.changesSince(left.position - 1)).toMatchObject([{ keys: undefined }]);
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
    const prepared = (cluster: string) =>
      prepare(
        writer,
        stage(writer.reader, cluster, "whole", wholeLines(shopSnapshot(cluster))),
        metaAt(NOON),
        {
          now: NOON,
          live: false,
        },
      );
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
    const large = snapshot("west", {
      namespaces: { shop: {} },
      exports: Object.fromEntries(names.map((name) => [`shop/${name}`, exported({ exportedAt: at(NOON) })])),
    });
    const prepared = (to: Writer, lines = wholeLines(large)) =>
      prepare(to, stage(to.reader, "west", "whole", lines), metaAt(NOON), { now: NOON, live: false });
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

    // The same push ends after two steps: what is there is whole, and only a whole push goes on from it.
    const less = wholeLines({ ...large, exports: {}, namespaces: { other: {} } });
    const [, second] = writer.applyInSteps(prepared(writer, less));
    expect(second!.cluster).toMatchObject({ state: "live", isPartial: true });
    expect(writer.reader.isWhole(second!.cluster)).toBe(true);
    const patch = stage(writer.reader, "west", "changes", patchLines("west", { namespaces: { more: {} } }));
    expect(() => prepare(writer, patch, metaAt(NOON), { now: NOON, live: true })).toThrow(NoState);
    writer.apply(prepared(writer, less));
    expect(snapshotOf(writer.reader, "west")).toMatchObject({ exports: {}, namespaces: { other: {} } });
    expect(writer.reader.cluster("west")).not.toHaveProperty("isPartial");
    expect(writer.reader.cluster("west")!.totals).toEqual(totalsOf(snapshotOf(writer.reader, "west")));
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
    const members = (one: number) =>
      Object.fromEntries(
        numbers.slice(0, 20).map((last) => {
          const address = `10.${one >> 8}.${one & 255}.${last}`;
          return [address, { address }];
        }),
      );
    const exports = Object.fromEntries(
      numbers.map((one) => [
        `n-${one}/web`,
        exported({
          exportedAt: at(NOON),
          endpoints: {
            "http/TCP/8080": {
              ports: [{ name: "http", protocol: "TCP", port: 8080 }],
              members: members(one),
            },
          },
        }),
      ]),
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

  it("a failure at any statement changes nothing", () => {
    const { database } = openWriter(driver);
    let left = Number.POSITIVE_INFINITY;
    const step = () => {
      if (--left < 0) throw new Error("power cut");
    };
    const failing: Database = {
      exec: (sql) => database.exec(sql),
      prepare(sql) {
        const statement = database.prepare(sql);
        const guard =
          <Values extends unknown[], Result>(run: (...values: Values) => Result) =>
          (...values: Values) => {
            step();
            const result = run(...values);
            step();
            return result;
          };
        return {
          run: guard((...values) => statement.run(...values)),
          get: guard((...values) => statement.get(...values)),
          all: guard((...values) => statement.all(...values)),
        } satisfies Statement;
      },
      atomically: (change) => database.atomically(change),
    };
    const writer = new Writer(failing, () => expect.unreachable());
    const base = wholeLines(shopSnapshot("west", 1100));
    const pods = { "shop/10.0.0.1": {} };
    const next = wholeLines(snapshot("west", { exports: shopSnapshot("west", 2).exports, pods }));
    let failures = 0;
    for (const kind of ["push", "departure", "expiry", "damage"] as const) {
      push(writer, "west", "whole", base);
      const sight = { now: NOON + 1, live: true };
      const change = prepare(writer, stage(writer.reader, "west", "whole", next), metaAt(NOON + 1), sight);
      const before = dump(database);
      for (let most = 0; ; most++) {
        left = most;
        try {
          writer.apply(kind === "push" ? change : { kind, cluster: "west" });
          break;
        } catch (error) {
          expect((error as Error).message).toBe("power cut");
          expect(dump(database)).toEqual(before);
          failures++;
        } finally {
          left = Number.POSITIVE_INFINITY;
        }
      }
    }
    expect(failures).toBeGreaterThan(40);
    database.close();
  });
});

describe("a damaged row", () => {
  const damaged = () => {
    const { database, writer } = openWriter();
    writer.start(NOON - 2 * DAY);
    for (const [cluster, now] of [
      ["east", NOON],
      ["west", NOON + 1000],
    ] as const) {
      const exports = {
        "shop/db": exported({ exportedAt: at(NOON - 9) }),
        "shop/web": exported({ exportedAt: at(NOON - 9) }),
      };
      push(
        writer,
        cluster,
        "whole",
        wholeLines(
          snapshot(cluster, { namespaces: { shop: {} }, exports, imports: { "shop/db": imported() } }),
        ),
        { now, live: false },
      );
    }
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
    const next = wholeLines(
      snapshot("east", {
        namespaces: { shop: {} },
        exports: {
          "shop/db": exported({ exportedAt: at(NOON - 9) }),
          "shop/web": exported({ exportedAt: at(NOON - 9) }),
        },
        imports: { "shop/db": imported() },
      }),
    );
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
  push(writer, "west", "whole", wholeLines(shop("west", NOON - 9)), sight);
  const patch = (ready: boolean) => ({
    "shop/web": { endpoints: { "*": { ports: [], members: { a: { address: "10.0.0.1", ready } } } } },
  });
  push(writer, "east", "whole", wholeLines(shop("east", NOON - 9)), sight);
  for (let change = 0; change < 100; change++) {
    push(writer, "east", "changes", patchLines("east", { exports: patch(change % 2 === 0) }), sight);
    // A renewal is none.
    push(writer, "east", "changes", [], sight);
    now += 30_000;
  }
  const all = writer.reader.history(1000);
  const [newest] = all;
  expect(newest).toEqual({
    clusterId: "east",
    kind: "changes",
    keys: ["shop/web"],
    count: 2,
    ranked: 0,
    at: now - 30_000,
  });
  expect(all.filter(({ clusterId }) => clusterId === "east")).toHaveLength(30);
  expect(all.at(-1)).toEqual({
    clusterId: "west",
    kind: "return",
    keys: ["shop/web"],
    count: 1,
    ranked: 1,
    at: NOON,
  });
  expect(writer.reader.history(5, (id) => id === "west").map(({ clusterId }) => clusterId)).toEqual(["west"]);
  writer.apply({ kind: "departure", cluster: "west" });
  expect(writer.reader.history(1)[0]).toMatchObject({
    clusterId: "west",
    kind: "departure",
    keys: ["shop/web"],
  });
  database.close();
});
