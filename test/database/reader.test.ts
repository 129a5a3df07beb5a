import { describe, expect, it } from "vitest";
import type { Database } from "../../src/database/driver.ts";
import { Kind } from "../../src/database/places.ts";
import { type Damage, Reader, rowSum, type StoredRow } from "../../src/database/reader.ts";
import { DRIVERS } from "./databases.ts";

function put(database: Database, row: Partial<Omit<StoredRow, "sum">> & { readonly name: string }): void {
  const { kind = Kind.export, cluster = "east", part = 0, text = "{}", reported = null, counts = null } = row;
  const { name, key = name } = row;
  const full = { key, kind, cluster, name, part, text, reported, counts };
  database
    .prepare(
      "INSERT INTO entry (key, kind, cluster, name, part, text, reported, counts, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .run(key, kind, cluster, name, part, text, reported, counts, rowSum(full));
}

describe.each(DRIVERS)("with %s", (_, open) => {
  it.each([
    ["a text of another", "UPDATE entry SET text = '{\"m\":{}}' WHERE part = 1"],
    ["another rank", "UPDATE entry SET counts = 1 WHERE part = 0 AND cluster = 'east'"],
    ["another key", "UPDATE entry SET key = 'shop/x' WHERE cluster = 'east'"],
    ["no first part", "DELETE FROM entry WHERE part = 0 AND cluster = 'east'"],
    ["no part in the middle", "DELETE FROM entry WHERE part = 1"],
  ])("leaves an entry out that has %s, and reports it", (_what, sql) => {
    const database = open();
    const found: Damage[] = [];
    const reader = new Reader(database, (damage) => found.push(damage));
    for (const part of [0, 1, 2]) put(database, { name: "shop/web", part });
    put(database, { name: "shop/web", cluster: "west" });
    database.prepare(sql).run();
    const rows = [...reader.rowsOf("shop/web"), ...reader.rowsOf("shop/x")];
    expect(rows.map(({ cluster }) => cluster)).toEqual(["west"]);
    expect(new Set(found.map(({ cluster }) => cluster))).toEqual(new Set(["east"]));
    database.close();
  });

  it("pages through a cluster's entries of one kind, and through the keys of a namespace", () => {
    const database = open();
    const reader = new Reader(database, () => expect.unreachable());
    const names = Array.from({ length: 600 }, (_, number) => `shop/web-${String(number).padStart(3, "0")}`);
    for (const name of names) for (const part of [0, 1]) put(database, { name, part });
    put(database, { name: "shop-b/web" });
    const paged = [...reader.all("east", Kind.export)].map(({ name, texts }) => `${name} ${texts.length}`);
    expect(paged).toEqual(["shop-b/web 1", ...names.map((name) => `${name} 2`)]);
    expect([...reader.serviceKeys(["east"], "shop")].flat()).toEqual(names);
    expect([...reader.keysOf("east", Kind.export)].flat()).toEqual(["shop-b/web", ...names]);
    expect([...reader.keysOf("east", Kind.export, "shop")].flat()).toEqual(names);
    database.prepare("UPDATE entry SET text = '[]' WHERE name < 'shop/web-300'").run();
    const damaged = new Reader(database, () => {});
    expect([...damaged.all("east", Kind.export)].map(({ name }) => name)).toEqual(names.slice(300));
    database.close();
  });

  it("tells changes after a position, and where they are not all there any more", () => {
    const database = open();
    const reader = new Reader(database, () => expect.unreachable());
    expect([reader.position(), reader.changesSince(0), reader.changesSince(1)]).toEqual([0, [], undefined]);
    const add = database.prepare(
      "INSERT INTO log (position, cluster, generation, kind, keys) VALUES (?, 'east', 9, 'patch', ?)",
    );
    add.run(4, '["shop/web"]');
    add.run(5, null);
    const change = { cluster: "east", generation: 9, kind: "patch" };
    expect(reader.changesSince(3)).toEqual([
      { ...change, position: 4, keys: ["shop/web"] },
      { ...change, position: 5, keys: undefined },
    ]);
    expect([reader.changesSince(5), reader.changesSince(2), reader.changesSince(6)]).toEqual([
      [],
      undefined,
      undefined,
    ]);
    expect(reader.changesSince(3, 1)).toHaveLength(1);
    database.close();
  });
});
