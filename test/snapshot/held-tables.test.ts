import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { drain } from "../../src/snapshot/drain.ts";
import { packDelta } from "../../src/snapshot/entry-changes.ts";
import { HeldTables } from "../../src/snapshot/held/held-tables.ts";
import { knownMembers, memberNames, NameList, setNameList } from "../../src/snapshot/held/member-names.ts";
import { charactersOf, pack, unpack } from "../../src/snapshot/held/packed-entry.ts";
import { sharedText } from "../../src/snapshot/held/shared-text.ts";
import { heldSnapshot, snapshotOf } from "../../src/snapshot/lines/held-state.ts";
import { COLLECTIONS } from "../../src/snapshot/parse.ts";
import { changesBetween } from "./changes.ts";
import { emptySnapshot, headlessExport, snapshots } from "./worlds.ts";

describe("a packed entry", () => {
  test.each([0, 1, 50, 1000])("is the entry again, with %i endpoints", (endpoints) => {
    const entry = headlessExport(endpoints);
    expect(unpack(pack(entry))).toEqual(entry);
    expect(charactersOf(pack(entry))).toBe(JSON.stringify(entry).length);
  });

  test("is text if it is short, and the same object if it is long", () => {
    expect(pack(headlessExport(5))).toBeTypeOf("string");
    const long = headlessExport(1000);
    expect(pack(long)).toBe(long);
  });
});

describe("held tables", () => {
  test("have what a snapshot has, entry by entry", () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        const [held, expected] = [HeldTables.of(snapshot), heldSnapshot(snapshot)];
        expect(snapshotOf("west", held)).toEqual(snapshot);
        for (const collection of COLLECTIONS) {
          expect([...held.keys(collection)].sort()).toEqual([...expected.keys(collection)].sort());
          for (const key of [...expected.keys(collection), "shop/nothing", "toString"]) {
            expect(held.has(collection, key)).toBe(expected.has(collection, key));
            expect(held.entry(collection, key)).toEqual(expected.entry(collection, key));
          }
        }
      }),
    );
  });

  test("become another snapshot by the changes to it, after which nothing changes", () => {
    fc.assert(
      fc.property(snapshots, snapshots, (from, to) => {
        const held = HeldTables.of(from);
        drain(held.apply(drain(packDelta(changesBetween(held, to)))));
        expect(snapshotOf("west", held)).toEqual(to);
        expect(changesBetween(held, to)).toEqual({ entries: [], singles: {} });
      }),
    );
  });

  test("take an entry whose members are in another order for the same", () => {
    const { endpoints, ...rest } = headlessExport(2);
    const of = (entry: typeof rest & { endpoints: typeof endpoints }) => ({
      ...snapshotOf("west", new HeldTables()),
      exports: { "shop/web": entry },
    });
    const held = HeldTables.of(of({ ...rest, endpoints }));
    expect(changesBetween(held, of({ endpoints, ...rest }))).toEqual({ entries: [], singles: {} });
  });

  test("take over a change in steps of 64 entries", () => {
    const namespaces = (count: number) => ({
      ...emptySnapshot("west"),
      namespaces: Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, {}])),
    });
    for (const [count, steps] of [
      [63, 0],
      [64, 1],
      [200, 3],
    ] as const) {
      const held = new HeldTables();
      const delta = drain(packDelta(changesBetween(held, namespaces(count))));
      expect([count, [...held.apply(delta)].length, held.count("namespaces")]).toEqual([count, steps, count]);
    }
  });

  test("a change is packed in steps of 16 entries, with what becomes of the single values", () => {
    const entries = Array.from({ length: 40 }, (_, index) => ({
      ...{ collection: "namespaces" as const, key: `n${index}`, entry: index === 0 ? undefined : {} },
    }));
    const packing = packDelta({ entries, singles: { topology: { region: "eu" } } });
    expect([...packing]).toHaveLength(2);
    const packed = drain(packDelta({ entries, singles: { topology: { region: "eu" } } }));
    expect(packed.singles).toEqual({ topology: { region: "eu" } });
    expect(packed.entries.slice(0, 2)).toEqual([
      { collection: "namespaces", key: "n0", entry: undefined },
      { collection: "namespaces", key: "n1", entry: "{}" },
    ]);
  });

  test("the text of a key is the same text, whatever it is", () => {
    for (const text of ["shop/web", "", "1", "__proto__", "toString"]) expect(sharedText(text)).toBe(text);
  });
});

describe("the names of a table that is built", () => {
  test("are those that were added and not removed since, each once", () => {
    const list = new NameList(["a", "b", "c"]);
    list.remove("b");
    list.add("d");
    expect(list.names).toEqual(["a", "c", "d"]);
    list.add("b");
    expect(list.names.toSorted()).toEqual(["a", "b", "c", "d"]);
    list.remove("a");
    list.add("a");
    expect(list.names.toSorted()).toEqual(["a", "b", "c", "d"]);
    list.remove("a");
    expect(list.names.toSorted()).toEqual(["b", "c", "d"]);
  });

  test("are read from the list instead of the table", () => {
    const table = { a: 1 };
    expect([memberNames(table), knownMembers(table)]).toEqual([["a"], undefined]);
    const list = new NameList(["a"]);
    setNameList(table, list);
    const names = vi.spyOn(Object, "keys");
    expect([memberNames(table), knownMembers(table)]).toEqual([["a"], 1]);
    expect(names).not.toHaveBeenCalledWith(table);
    names.mockRestore();
  });
});
