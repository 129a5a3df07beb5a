import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { drain } from "../../src/snapshot/drain.ts";
import { packDelta } from "../../src/snapshot/entry-changes.ts";
import { HeldTables } from "../../src/snapshot/held/held-tables.ts";
import { charactersOf, pack, unpack } from "../../src/snapshot/held/packed-entry.ts";
import { heldSnapshot, snapshotOf } from "../../src/snapshot/lines/held-state.ts";
import { COLLECTIONS } from "../../src/snapshot/parse.ts";
import { changesBetween } from "./changes.ts";
import { headlessExport, snapshots } from "./worlds.ts";

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
});
