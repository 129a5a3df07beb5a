import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { openFileStore } from "../../../src/store/files/file-store.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { createMirroredStore } from "../../../src/store/remembered/mirrored-store.ts";
import { openTextFolder } from "../../../src/store/remembered/text-folder.ts";
import { createTextTable } from "../../../src/store/remembered/text-table.ts";
import { createDurableObjectStore } from "../../../src/store/rows/durable-object-store.ts";
import { stateDirectory } from "../../store/files/state-directory.ts";
import { sqliteDouble } from "../../store/rows/sqlite-double.ts";
import { FakeClock } from "../fake-clock.ts";
import {
  DAY,
  day,
  inMemory,
  MINUTE,
  openSharedService,
  type SharedService,
  type Stores,
} from "../isolation/shared-service.ts";

const HONEST = day(1) - DAY;
const FORGED = "2020-01-01T00:00:01Z";
const onWarning = () => {};

const inFolder = (directory: string) => async (): Promise<Stores> => {
  return {
    store: await openFileStore(join(directory, "snapshots"), { onWarning }),
    remembered: createMirroredStore([
      await openTextFolder(join(directory, "precedence")),
      await openTextFolder(join(directory, "precedence-copy")),
    ]),
  };
};

/** West exported first. East, which was there without it, exports with a forged time, and is set back. North left, having exported too. */
async function live(world: SharedService) {
  await world.put("west", { exportedAt: HONEST });
  await world.put("east");
  await world.put("north");
  await world.at(day(40));
  await world.put("west", { exportedAt: HONEST });
  await world.put("north", { exportedAt: FORGED });
  await world.put("east", { exportedAt: FORGED });
  await world.renew("east");
  await world.leave("north");
}

/** What hostile clusters and the honest one do after a restart over damaged files. */
async function expectNothingGained(world: SharedService) {
  // Where its snapshot is lost west is not answered before it pushes.
  if (world.isLive("west")) expect(world.owner()).toBe("west");
  await world.put("north", { exportedAt: FORGED });
  await world.put("east", { exportedAt: FORGED });
  if (world.isLive("west")) expect(world.owner()).toBe("west");
  await world.put("west", { exportedAt: HONEST });
  expect(world.owner()).toBe("west");
  expect(world.implausible().map(({ clusterId }) => clusterId)).toEqual(["east", "north"]);
  await world.restart();
  expect(world.owner()).toBe("west");
}

const ways: [string, (file: string, other: string) => void][] = [
  ["truncated", (file) => writeFileSync(file, readFileSync(file).subarray(0, -3))],
  ["emptied", (file) => writeFileSync(file, "")],
  ["deleted", (file) => rmSync(file)],
  ["garbage", (file) => writeFileSync(file, "\u0000\u0001 garbage\n")],
  ["changed in one bit", flip],
  ["swapped with that of another cluster", swap],
];

function flip(file: string) {
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1]! ^= 4;
  writeFileSync(file, bytes);
}

function swap(file: string, other: string) {
  const bytes = readFileSync(file);
  writeFileSync(file, readFileSync(other));
  writeFileSync(other, bytes);
}

function filesOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "lock")
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)));
}

/** A file of the same kind that is another cluster's. */
function counterpart(file: string, files: readonly string[]): string | undefined {
  const swapped = file.includes("west") ? file.replace("west", "east") : file.replace(/east|north/, "west");
  if (swapped !== file && files.includes(swapped)) return swapped;
  return files.find((other) => other !== file && dirname(other) === dirname(file));
}

/** Tables of the memory, and what is done to a row of one, or to the table. */
const tables = ["export_precedence", "export_precedence_copy"];
const statements: [string, (table: string, name: string) => [string, ...string[]]][] = [
  ["a row is deleted", (table, name) => [`DELETE FROM ${table} WHERE name = ?`, name]],
  ["a row is emptied", (table, name) => [`UPDATE ${table} SET text = '' WHERE name = ?`, name]],
  [
    "a row is changed",
    (table, name) => [`UPDATE ${table} SET text = replace(text, '20', '19') WHERE name = ?`, name],
  ],
  [
    "a row has another name",
    (table, name) => [`UPDATE ${table} SET name = name || '9' WHERE name = ?`, name],
  ],
  ["the table is lost", (table) => [`DELETE FROM ${table}`]],
];

describe.each(tables)("the storage of a Durable Object, in the table %s", (table) => {
  it.each(statements)("of which %s, gains no cluster a service", async (_, statement) => {
    for (const record of ["@founding", "exports@east", "exports@north", "exports@west"]) {
      const database = sqliteDouble();
      const open = async (): Promise<Stores> => ({
        store: createDurableObjectStore(database, { onWarning }),
        remembered: createMirroredStore([
          createTextTable(database, tables[0]!),
          createTextTable(database, tables[1]!),
        ]),
      });
      const world = await openSharedService(open, new FakeClock(day(1)));
      await live(world);
      await world.close();
      const [query, ...bindings] = statement(table, record);
      database.sql.exec(query, ...bindings);
      const again = await openSharedService(open, new FakeClock(day(40) + MINUTE));
      await expectNothingGained(again);
      expect(again.events.map(({ event }) => event)).toContain("memory-damaged");
      await again.close();
      database.close();
    }
  });
});

describe("a state folder", () => {
  let original: string;
  let files: string[];
  beforeAll(async () => {
    original = mkdtempSync(join(tmpdir(), "clusterset-doh-damage-"));
    const world = await openSharedService(inFolder(original), new FakeClock(day(1)));
    await live(world);
    await world.close();
    files = filesOf(original);
    return () => rmSync(original, { recursive: true });
  });

  /** Opens a gateway over a damaged copy of the state. */
  async function restarted(damage: (directory: string) => void): Promise<SharedService> {
    const directory = stateDirectory();
    cpSync(original, directory, { recursive: true, filter: (path) => !path.endsWith("lock") });
    damage(directory);
    return openSharedService(inFolder(directory), new FakeClock(day(40) + MINUTE));
  }

  it("has records of snapshots and of precedence, and two copies of the latter", () => {
    expect(files.filter((file) => file.startsWith("precedence"))).toHaveLength(2 * 4);
    expect(files.filter((file) => file.startsWith("snapshots")).length).toBeGreaterThan(2);
  });

  it.each(ways)(
    "of which any one file is %s gains no cluster a service, nor loses the first one's",
    async (_, damage) => {
      for (const file of files) {
        const other = counterpart(file, files);
        if (other === undefined) continue;
        const world = await restarted((directory) => damage(join(directory, file), join(directory, other)));
        await expectNothingGained(world).catch((error) => {
          error.message = `${file}: ${error.message}`;
          throw error;
        });
        const isOfMemory = file.startsWith("precedence");
        const damaged = world.events.filter(({ event }) => event === "memory-damaged");
        expect([file, damaged.length > 0]).toEqual([file, isOfMemory]);
        await world.close();
      }
    },
  );

  it.each([
    ["precedence", "precedence"],
    ["its copy", "precedence-copy"],
    ["snapshots", "snapshots"],
  ])("that lost the folder of %s gains no cluster a service", async (_, folder) => {
    const world = await restarted((directory) => rmSync(join(directory, folder), { recursive: true }));
    await expectNothingGained(world);
    await world.close();
  });

  it("that lost all memory treats the clusters that are answered as first, and no newcomer as founding", async () => {
    const store = createMemoryStore();
    const world = await openSharedService(inMemory({ store }));
    await world.put("west", { exportedAt: HONEST });
    await world.at(day(40));
    await world.put("west", { exportedAt: HONEST });
    await world.put("east");
    const again = await openSharedService(inMemory({ store }), world.clock);
    await again.put("east", { exportedAt: FORGED });
    await again.put("north", { exportedAt: FORGED });
    expect(again.owner()).toBe("west");
    expect(again.implausible().map(({ clusterId }) => clusterId)).toEqual(["east", "north"]);
    expect(again.events).toContainEqual({ event: "memory-lost", record: "exports@west" });
    expect(again.events).toContainEqual({ event: "memory-lost", record: "@founding" });
  });

  it("that lost all memory believes no stored cluster whose lease has expired", async () => {
    const store = createMemoryStore();
    const world = await openSharedService(inMemory({ store }));
    await world.put("west", { exportedAt: HONEST });
    await world.put("east");
    await world.at(day(40));
    await world.put("west", { exportedAt: HONEST });
    await world.put("east", { exportedAt: FORGED }, 60);
    world.clock.stall(2 * MINUTE);
    const again = await openSharedService(inMemory({ store }), world.clock);
    await again.put("east", { exportedAt: FORGED });
    expect(again.owner()).toBe("west");
  });

  it("whose newest snapshot is damaged falls back to an older one, whose withdrawn exports gain nothing", async () => {
    const directory = stateDirectory();
    const world = await openSharedService(inFolder(directory), new FakeClock(day(1)));
    await world.put("west", { exportedAt: HONEST });
    await world.put("east");
    await world.at(day(40));
    await world.put("west", { exportedAt: HONEST });
    await world.put("east", { exportedAt: FORGED });
    await world.put("east");
    await world.close();
    const folder = join(directory, "snapshots", "clusters", "east");
    const newest = readdirSync(folder)
      .filter((name) => name.endsWith(".snapshot"))
      .sort()
      .at(-1)!;
    flip(join(folder, newest));
    const again = await openSharedService(inFolder(directory), new FakeClock(day(40) + MINUTE));
    expect(again.isLive("east")).toBe(true);
    expect(again.owner()).toBe("west");
    await again.close();
  });
});
