import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openPrecedenceFolder } from "../../src/store/precedence-folder.ts";
import { createMemoryPrecedenceStore } from "../../src/store/precedence-store.ts";
import { createPrecedenceTable } from "../../src/store/precedence-table.ts";
import { sqliteDouble } from "./sqlite-double.ts";
import { stateDirectory } from "./state-directory.ts";

describe.each([
  [
    "memory",
    () => {
      const memory = createMemoryPrecedenceStore();
      return async () => memory;
    },
  ],
  [
    "folder",
    () => {
      const directory = join(stateDirectory(), "precedence");
      return () => openPrecedenceFolder(directory);
    },
  ],
  [
    "table",
    () => {
      const database = sqliteDouble();
      return async () => createPrecedenceTable(database);
    },
  ],
])("what is remembered of exports, kept in a %s", (_, prepare) => {
  test("comes back after a restart, the newest of each name, of any length", async () => {
    const open = prepare();
    const store = await open();
    expect((await store.load()).size).toBe(0);
    const long = JSON.stringify({ text: "é".repeat(1_200_000) });
    await store.keep("@began", "1");
    await store.keep("south.eu", long);
    await store.keep("west", long);
    await store.keep("west", "short");
    expect([...(await (await open()).load())].sort()).toEqual([
      ["@began", "1"],
      ["south.eu", long],
      ["west", "short"],
    ]);
  });
});

test("no name leads out of the folder, and other files in it are left alone", async () => {
  const folder = join(stateDirectory(), "other");
  mkdirSync(folder);
  writeFileSync(join(folder, "west.json.tmp"), "torn");
  const store = await openPrecedenceFolder(folder);
  for (const name of ["../west", "a/b", "", ".", "..", "A"])
    await expect(store.keep(name, "x")).rejects.toThrow(RangeError);
  expect((await store.load()).size).toBe(0);
});
