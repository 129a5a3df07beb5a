import { describe, expect, it } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import type { SqlDatabase } from "../../../src/store/rows/sql-database.ts";
import { sqliteDouble } from "../../store/rows/sqlite-double.ts";
import { compileSmall } from "../parts/keeper-world.ts";
import { FACTS, hashesIn, startStored } from "./stored-world.ts";

const first = compileSmall([], 7);
const changed = compileSmall([0, 1, 2], 8);
const LARGE = "x".repeat(1024 * 1024);

/** A database that counts how often the record of a generation is written, or fails then. */
function watchedDatabase() {
  const database = sqliteDouble();
  const records = { written: 0, fail: false };
  const watched: SqlDatabase = {
    transactionSync: (change) => database.transactionSync(change),
    sql: {
      exec(query, ...bindings) {
        if (query.startsWith("INSERT INTO generations ")) {
          if (records.fail) throw new Error("the disk is full");
          records.written++;
        }
        return database.sql.exec(query, ...bindings);
      },
    },
  };
  return { watched, records };
}

/** A database with a generation and all of its notes, as a process leaves it. */
function kept(database?: SqlDatabase) {
  const before = startStored(database);
  const notes = before.generations.notes("");
  notes.clear();
  notes.put("a", "1");
  before.generations.keep("", first, FACTS);
  return before;
}

describe("a process that starts", () => {
  it("goes on from a generation with all of its notes, with what was known of it", () => {
    const { database } = kept();
    const { generations } = startStored(database);
    expect(generations.resumable("")).toBeUndefined();
    generations.load("");
    expect(generations.resumable("")).toMatchObject({ ...FACTS, keptAt: 1_000_000 });
    expect(generations.resumable("other")).toBeUndefined();
    expect([...generations.notes("").read()]).toEqual([["a", "1"]]);
  });

  it.each<[what: string, with_: (process: ReturnType<typeof startStored>) => void]>([
    ["had no notes", ({ generations }) => generations.keep("", first, FACTS)],
    [
      "had some of its notes only",
      ({ generations }) => {
        generations.notes("").put("a", "1");
        generations.keep("", first, FACTS);
      },
    ],
    [
      "died in a large compilation after it",
      ({ generations }) => {
        const notes = generations.notes("");
        notes.clear();
        generations.keep("", first, FACTS);
        notes.put("a", LARGE);
      },
    ],
    [
      "died in a compilation of everything after it",
      ({ generations }) => {
        const notes = generations.notes("");
        notes.clear();
        generations.keep("", first, FACTS);
        notes.clear();
      },
    ],
  ])("does not go on from the generation of a process that %s", (_, of) => {
    const before = startStored();
    of(before);
    const { generations } = startStored(before.database);
    expect(generations.load("")?.generation.rootHash).toBe(first.rootHash);
    expect(generations.resumable("")).toBeUndefined();
  });

  it("goes on from the generation of a large compilation that was kept", () => {
    const { database, generations } = kept();
    generations.notes("").clear();
    const notes = generations.notes("");
    notes.clear();
    notes.put("b", LARGE);
    notes.put("c", "3");
    generations.keep("", changed, FACTS);
    const next = startStored(database).generations;
    next.load("");
    expect(next.resumable("")).toBeDefined();
    expect([...next.notes("").read()].map(([name]) => name)).toEqual(["b", "c"]);
  });

  it("keeps the notes of its own changes, too", () => {
    const { database } = kept();
    const { generations } = startStored(database);
    generations.load("");
    const notes = generations.notes("");
    generations.resumed("");
    notes.put("b", "2");
    generations.keep("", changed, FACTS);
    const next = startStored(database).generations;
    next.load("");
    expect(next.resumable("")).toBeDefined();
    expect([...next.notes("").read()]).toEqual([
      ["a", "1"],
      ["b", "2"],
    ]);
  });

  it("has the parts of a generation that it went on from: those that the next replaces go, the others stay", () => {
    const { database } = kept();
    const { generations, held, stored } = startStored(database);
    generations.load("");
    generations.notes("");
    generations.resumed("");
    drain(generations.sweep());
    held.now += 60_000;
    generations.keep("", first, FACTS);
    expect(stored()).toEqual(hashesIn(first));
    generations.keep("", changed, FACTS);
    held.now += 30_000;
    for (let count = 0; count < 20; count++) generations.keep("", changed, FACTS);
    expect(stored()).toEqual(hashesIn(changed));
  });
});

describe("a disowned generation", () => {
  it("is written once, and answered from by the next process all the same", () => {
    const { watched, records } = watchedDatabase();
    const { database, generations, table } = kept(watched);
    const notes = generations.notes("");
    notes.put("b", LARGE);
    const record = table.readGeneration("");
    expect(JSON.parse(record!)).toMatchObject({ isNoted: false, rootHash: first.rootHash, serial: 7 });
    notes.put("c", LARGE);
    expect([records.written, table.readGeneration("")]).toEqual([2, record]);
    expect(startStored(database).generations.load("")?.generation.rootHash).toBe(first.rootHash);
  });

  it("is that of its own scope", () => {
    const { generations, database } = kept();
    generations.notes("other").clear();
    generations.keep("other", first, FACTS);
    generations.notes("other").put("a", LARGE);
    const next = startStored(database).generations;
    for (const scope of ["", "other"]) next.load(scope);
    expect([next.resumable("") !== undefined, next.resumable("other")]).toEqual([true, undefined]);
  });
});

describe("a segment that notes name", () => {
  it("is a branch that reads it from its row, with its length", () => {
    const { database } = kept();
    const { generations } = startStored(database);
    const notes = generations.notes("");
    const { names, reverse } = first;
    for (const [branches, of] of [
      [names.entries, notes.names],
      [reverse.entries, notes.reverse],
    ] as const) {
      const segment = branches.find(({ branch }) => branch.segment !== undefined)!.branch.segment!;
      const branch = of(segment.hash);
      expect(branch).toMatchObject({ kind: "segment", hash: segment.hash, byteLength: segment.bytes.length });
      expect(branch.segment!.bytes).toEqual(segment.bytes);
    }
  });

  it("is an error where its row is missing", () => {
    const { generations } = startStored();
    const notes = generations.notes("");
    for (const of of [notes.names, notes.reverse])
      expect(() => of("0".repeat(32))).toThrow("a segment is missing or damaged");
  });
});

it("notes and the record of a generation are kept together or not at all", () => {
  const { watched, records } = watchedDatabase();
  const { generations, noteTable, table } = kept(watched);
  const notes = generations.notes("");
  notes.clear();
  generations.keep("", first, FACTS);
  notes.put("b", "2");
  records.fail = true;
  expect(() => generations.keep("", changed, FACTS)).toThrow("the disk is full");
  expect([...noteTable.read("")]).toEqual([]);
  expect(JSON.parse(table.readGeneration("")!)).toMatchObject({ rootHash: first.rootHash });
  records.fail = false;
  generations.keep("", changed, FACTS);
  expect([...noteTable.read("")]).toEqual([["b", "2"]]);
});
