import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createMirroredStore } from "../../../src/store/remembered/mirrored-store.ts";
import {
  createMemoryRememberedStore,
  type RememberedStore,
} from "../../../src/store/remembered/remembered-store.ts";
import { openTextFolder } from "../../../src/store/remembered/text-folder.ts";
import { createTextTable } from "../../../src/store/remembered/text-table.ts";
import { stateDirectory } from "../files/state-directory.ts";
import { sqliteDouble } from "../rows/sqlite-double.ts";

const openFolders = async (directory: string) =>
  createMirroredStore([
    await openTextFolder(join(directory, "first")),
    await openTextFolder(join(directory, "second")),
  ]);

describe.each<[string, () => () => Promise<RememberedStore>]>([
  [
    "memory",
    () => {
      const memory = createMemoryRememberedStore();
      return async () => memory;
    },
  ],
  [
    "two folders",
    () => {
      const directory = stateDirectory();
      return () => openFolders(directory);
    },
  ],
  [
    "two tables",
    () => {
      const database = sqliteDouble();
      return async () =>
        createMirroredStore([createTextTable(database, "first"), createTextTable(database, "second")]);
    },
  ],
])("records kept in %s", (_, prepare) => {
  test("come back after a restart, the newest of each name, of any length", async () => {
    const open = prepare();
    const store = await open();
    expect(await store.load()).toEqual({ values: new Map(), damage: [] });
    const long = { text: "é".repeat(1_200_000) };
    await store.keep("@founding", { at: 1 });
    await store.keep("exports@south.eu", long);
    await store.keep("exports@west", long);
    await store.keep("exports@west", "short");
    const { values, damage } = await (await open()).load();
    expect([...values].sort()).toEqual([
      ["@founding", { at: 1 }],
      ["exports@south.eu", long],
      ["exports@west", "short"],
    ]);
    expect(damage).toEqual([]);
  });

  test("have names of which none is a path", async () => {
    const store = await prepare()();
    for (const name of ["exports@../west", "a/b", "west", "", ".", "@", "@.", "exports@A", "@a\n"])
      await expect(store.keep(name, "x")).rejects.toThrow(RangeError);
    expect((await store.load()).values.size).toBe(0);
  });
});

const damages: [string, (file: string, other: string) => void][] = [
  ["truncated", (file) => writeFileSync(file, readFileSync(file).subarray(0, -5))],
  ["emptied", (file) => writeFileSync(file, "")],
  ["deleted", (file) => rmSync(file)],
  [
    "a directory",
    (file) => {
      rmSync(file);
      mkdirSync(file);
    },
  ],
  ["garbage", (file) => writeFileSync(file, "\0garbage")],
  ["replaced by another record's copy", (file, other) => writeFileSync(file, readFileSync(other))],
  [
    "changed in one bit",
    (file) => {
      const bytes = readFileSync(file);
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(file, bytes);
    },
  ],
];

describe.each(damages)("a copy that is %s", (name, damage) => {
  test.each(["first", "second"])("is reported and replaced by the other one (%s)", async (copy) => {
    const directory = stateDirectory();
    const file = (record: string) => join(directory, copy, `${record}.record`);
    const store = await openFolders(directory);
    await store.keep("exports@west", "west");
    await store.keep("exports@east", "east");
    damage(file("exports@west"), file("exports@east"));
    const { values, damage: found } = await (await openFolders(directory)).load();
    expect(values).toEqual(new Map([["exports@east", "east"], ["exports@west", "west"]])); // biome-ignore format: one table
    expect(found).toEqual([expect.objectContaining({ record: "exports@west", lost: false })]);
    if (name !== "a directory") expect((await (await openFolders(directory)).load()).damage).toEqual([]);
  });

  test("loses the record where the other copy is damaged, too, and the next one counts again", async () => {
    const directory = stateDirectory();
    const store = await openFolders(directory);
    for (const name of ["exports@west", "exports@east"]) await store.keep(name, name);
    for (const place of ["first", "second"])
      damage(join(directory, place, "exports@west.record"), join(directory, place, "exports@east.record"));
    const again = await openFolders(directory);
    const { values, damage: found } = await again.load();
    expect([...values.keys()]).toEqual(["exports@east"]);
    expect(found.every(({ record, lost }) => record === "exports@west" && lost)).toBe(true);
    if (name === "a directory") return;
    await again.keep("exports@west", "new");
    expect((await (await openFolders(directory)).load()).values.get("exports@west")).toBe("new");
  });
});

test("of two sound copies the newer one counts, which one the process wrote before it died", async () => {
  const directory = stateDirectory();
  const store = await openFolders(directory);
  await store.keep("exports@west", "old");
  const file = join(directory, "second", "exports@west.record");
  const before = readFileSync(file);
  await store.keep("exports@west", "new");
  writeFileSync(file, before);
  const { values, damage } = await (await openFolders(directory)).load();
  expect([values.get("exports@west"), damage]).toEqual(["new", []]);
  expect(readFileSync(file, "utf8")).toContain("new");
});
