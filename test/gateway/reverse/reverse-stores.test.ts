import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openFileStore } from "../../../src/store/files/file-store.ts";
import { createMirroredStore } from "../../../src/store/remembered/mirrored-store.ts";
import { openTextFolder } from "../../../src/store/remembered/text-folder.ts";
import { createTextTable } from "../../../src/store/remembered/text-table.ts";
import { createDurableObjectStore } from "../../../src/store/rows/durable-object-store.ts";
import { stateDirectory } from "../../store/files/state-directory.ts";
import { sqliteDouble } from "../../store/rows/sqlite-double.ts";
import { openReverseWorld, reporting, type Stores } from "./reverse-world.ts";

const OLD = "2024-01-01T00:00:00Z";
const YOUNG = "2026-05-01T00:00:00Z";
const PODS = Array.from({ length: 200 }, (_, index) => `10.0.0.${index}`);

const east = reporting("east", "headless", { db: { since: YOUNG, has: [...PODS, "2001:db8::1"] } });
const west = (...has: string[]) => reporting("west", "headless", { old: { since: OLD, has } });

const ignore = () => {};

function inFolders(directory: string): () => Promise<Stores> {
  return async () => ({
    store: await openFileStore(join(directory, "snapshots"), { onWarning: ignore }),
    remembered: createMirroredStore([
      await openTextFolder(join(directory, "remembered", "first")),
      await openTextFolder(join(directory, "remembered", "second")),
    ]),
  });
}

const hosts: [string, () => () => Promise<Stores>][] = [
  ["files", () => inFolders(stateDirectory())],
  [
    "a Durable Object",
    () => {
      const database = sqliteDouble();
      return async () => ({
        store: createDurableObjectStore(database, { onWarning: ignore }),
        remembered: createMirroredStore([
          createTextTable(database, "first"),
          createTextTable(database, "second"),
        ]),
      });
    },
  ],
];

describe.each(hosts)("after a restart from %s", (_, prepare) => {
  it("reverse names are those of the clusters that had the addresses first", async () => {
    const world = await openReverseWorld(prepare());
    await world.put(east);
    await world.put(west());
    await world.patch(west(...PODS.slice(0, 100)));
    await world.restart();
    await world.put(west(...PODS, "2001:db8::1"));
    await world.restart();
    for (const address of [...PODS, "2001:db8::1"]) expect(world.owner(address)).toBe("east.db");
    await world.put(reporting("east", "headless", { db: { since: YOUNG, has: PODS.slice(1) } }));
    await world.put(east);
    await world.restart();
    expect(world.owner(PODS[0]!)).toBe("west.old");
    expect(world.owner(PODS[1]!)).toBe("east.db");
  });
});

/** Ways in which a disk, or somebody at it, damages a file. */
const damages: Readonly<Record<string, (path: string) => void>> = {
  removed: (path) => rmSync(path),
  empty: (path) => writeFileSync(path, ""),
  "cut in half": (path) => {
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, bytes.length / 2));
  },
  "with the names exchanged": (path) => {
    const text = readFileSync(path, "utf8");
    writeFileSync(
      path,
      text
        .replaceAll("east shop/db", "EAST")
        .replaceAll("west shop/old", "east shop/db")
        .replaceAll("EAST", "west shop/old"),
    );
  },
};

it.each(Object.keys(damages))(
  "no reverse name moves where any one file of the memory is %s",
  async (damage) => {
    const directory = stateDirectory();
    const world = await openReverseWorld(inFolders(directory));
    await world.put(east);
    await world.put(west("10.0.0.1", "10.0.0.2", "2001:db8::1"));
    const folders = ["first", "second"].map((copy) => join(directory, "remembered", copy));
    const files = folders.flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)));
    expect(files.filter((file) => file.includes("addresses@"))).toHaveLength(4);
    for (const file of files) {
      damages[damage]!(file);
      await world.restart();
      const owners = ["10.0.0.1", "10.0.0.2", "2001:db8::1"].map((address) => world.owner(address));
      expect(owners, file).toEqual(["east.db", "east.db", "east.db"]);
    }
  },
);

it("the memory is bounded: an address that one cluster reports takes no room, and one that is given up is forgotten", async () => {
  const directory = stateDirectory();
  const world = await openReverseWorld(inFolders(directory));
  const kept = () => {
    const folder = join(directory, "remembered", "first");
    const files = readdirSync(folder).filter((file) => file.startsWith("addresses@"));
    return files.map((file) => readFileSync(join(folder, file), "utf8")).join("");
  };
  await world.put(east);
  expect(kept()).toBe("");
  await world.put(west(...PODS));
  expect(kept().match(/0a0000/g)).toHaveLength(PODS.length);
  for (let round = 0; round < 5; round++)
    await world.put(west(...PODS.slice(0, 50).map((_, index) => `10.${round}.9.${index}`)));
  expect(kept()).not.toContain("0a0000");
});
