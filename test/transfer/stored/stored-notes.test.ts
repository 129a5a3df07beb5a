import { describe, expect, it } from "vitest";
import { NoteTable } from "../../../src/store/rows/note-table.ts";
import { StoredNotes } from "../../../src/transfer/stored/stored-notes.ts";
import { sqliteDouble } from "../../store/rows/sqlite-double.ts";

/** Characters that wait for their generation at most. */
const MOST = 1024 * 1024;

/** The notes of a scope in an empty table, and how often the kept generation was disowned. */
function openNotes() {
  const table = new NoteTable(sqliteDouble());
  const disowned = { times: 0 };
  const never = () => {
    throw new Error("no segment is asked for");
  };
  const notes = new StoredNotes("scope", {
    ...{ table, names: never, reverse: never },
    disown: (change) => {
      disowned.times++;
      change();
    },
  });
  return { table, notes, disowned, rows: (scope = "scope") => [...table.read(scope)] };
}

describe("the notes of a small change", () => {
  it("wait until they are written with their generation", () => {
    const { notes, disowned, rows } = openNotes();
    notes.put("a", "1");
    notes.put("b", "2");
    notes.put("a", "3");
    expect([rows(), disowned.times]).toEqual([[], 0]);
    notes.write();
    expect(rows()).toEqual([
      ["a", "3"],
      ["b", "2"],
    ]);
    expect([...notes.read()]).toEqual(rows());
    expect(rows("other")).toEqual([]);
  });

  it("wait still where the transaction failed, and no more once they are written", () => {
    const { notes, table, rows } = openNotes();
    notes.put("a", "1");
    notes.write();
    table.clear("scope");
    notes.write();
    expect(rows()).toEqual([["a", "1"]]);
    notes.written();
    table.clear("scope");
    notes.write();
    expect(rows()).toEqual([]);
  });

  it("are read as they were put last, from what waits or from rows", () => {
    const { notes, table } = openNotes();
    const missing = new Error("the note a is missing");
    expect(() => notes.get("a")).toThrow(missing);
    notes.put("a", "1");
    expect(notes.get("a")).toBe("1");
    notes.write();
    notes.written();
    table.write("other", "a", "3");
    expect(notes.get("a")).toBe("1");
    notes.put("a", "2");
    expect([notes.get("a"), table.readOne("scope", "a")]).toEqual(["2", "1"]);
    notes.put("a", undefined);
    expect(() => notes.get("a")).toThrow(missing);
  });

  it("remove those that are no more", () => {
    const { notes, rows } = openNotes();
    for (const text of ["1", undefined]) {
      notes.put("a", text);
      notes.write();
      notes.written();
    }
    expect(rows()).toEqual([]);
  });
});

describe("the notes of a large change", () => {
  it("are written at once when more than a million characters wait, and disown the generation", () => {
    const { notes, disowned, rows } = openNotes();
    notes.put("a", "x".repeat(MOST / 2 - 1));
    notes.put("b", undefined);
    notes.put("c", "x".repeat(MOST / 2 - 2));
    expect([rows(), disowned.times]).toEqual([[], 0]);
    notes.put("d", undefined);
    expect(disowned.times).toBe(1);
    expect(rows().map(([name, { length }]) => [name, length])).toEqual([
      ["a", MOST / 2 - 1],
      ["c", MOST / 2 - 2],
    ]);
  });

  it("are counted anew after that, and after those of a generation", () => {
    const { notes, disowned } = openNotes();
    notes.put("a", "x".repeat(MOST));
    expect(disowned.times).toBe(1);
    notes.put("b", "x".repeat(MOST - 1));
    expect(disowned.times).toBe(1);
    notes.written();
    notes.put("c", "x".repeat(MOST - 1));
    expect(disowned.times).toBe(1);
    notes.put("d", "");
    expect(disowned.times).toBe(2);
  });
});

describe("a compilation of everything", () => {
  it("forgets all notes, those that wait too, and its own are whole", () => {
    const { notes, table, disowned, rows } = openNotes();
    table.write("scope", "old", "1");
    table.write("other", "kept", "1");
    notes.put("waiting", "1");
    expect(notes.isWhole).toBe(false);
    notes.clear();
    expect([rows(), rows("other"), disowned.times, notes.isWhole]).toEqual([[], [["kept", "1"]], 1, true]);
    notes.write();
    expect(rows()).toEqual([]);
  });
});
