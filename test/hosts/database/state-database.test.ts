import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { storeFailure } from "../../../src/database/store-error.ts";
import { Writer } from "../../../src/database/writer.ts";
import { openForReading, openStateDatabase, type StateDatabase } from "../../../src/hosts/node/database.ts";
import { push, wholeLines } from "../../database/pushing.ts";
import { folderOfTest } from "../../folders.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";

let folder: string;
const opened = new Set<StateDatabase>();
beforeEach(() => {
  folder = folderOfTest();
});
afterEach(() => {
  for (const database of opened) close(database);
});

async function open() {
  const log = vi.fn();
  const database = await openStateDatabase(folder, log);
  opened.add(database);
  const writer = new Writer(database, () => expect.unreachable());
  const events = log.mock.calls.map(([level, event]) => `${level} ${event}`);
  return { database, writer, events, log, clusters: writer.reader.clusters().map(({ id }) => id) };
}

function put(writer: Writer, cluster: string, endpoints: number): void {
  push(writer, cluster, "whole", wholeLines(shopSnapshot(cluster, endpoints)));
}

function close(database: StateDatabase): void {
  opened.delete(database);
  database.close();
}

/** A folder in which `west` was pushed. */
async function pushed(): Promise<string> {
  const { database, writer } = await open();
  put(writer, "west", 300);
  close(database);
  return database.path;
}

describe("the database of a state folder", () => {
  it("has what was applied before, in files that only its user can read", async () => {
    await pushed();
    const { database, clusters, events, writer } = await open();
    expect([clusters, events]).toEqual([["west"], []]);
    put(writer, "east", 1);
    const modes = readdirSync(folder).map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8));
    expect(new Set(modes)).toEqual(new Set(["600"]));
    expect(readdirSync(folder).sort()).toEqual([
      "clusterset.db",
      "clusterset.db-shm",
      "clusterset.db-wal",
      "clusterset.lock",
    ]);
    close(database);
  });

  it("belongs to one gateway at a time", async () => {
    const { database } = await open();
    await expect(open()).rejects.toMatchObject({
      code: "STATE_DIRECTORY_IN_USE",
      message: expect.stringContaining(`in use by process ${process.pid}`),
    });
    close(database);
    close((await open()).database);
  });

  it("shows a reader each change as soon as it was applied", async () => {
    const { database, writer } = await open();
    const reader = openForReading(database.path);
    const count = reader.prepare("SELECT count(*) AS count FROM entry WHERE cluster = ?");
    for (const [times, cluster] of ["east", "west"].entries()) {
      expect(count.get(cluster)?.count).toBe(0);
      put(writer, cluster, 1 + times);
      expect(count.get(cluster)?.count).toBeGreaterThan(0);
    }
    expect(() => reader.exec("DELETE FROM entry")).toThrow(/readonly/);
    reader.close();
  });

  it.each(["0", "999"])("is emptied, with a warning, where another version (%s) made it", async (version) => {
    const { database, writer } = await open();
    put(writer, "west", 1);
    database.exec(`UPDATE meta SET value = '${version}' WHERE name = 'version'`);
    close(database);
    const { clusters, events } = await open();
    expect([clusters, events]).toEqual([[], ["warn database-emptied"]]);
  });
});

describe("a damaged database", () => {
  it.each([
    ["is none", () => Buffer.from("no database ".repeat(1000))],
    ["is cut", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ["has pages of nothing", (bytes: Buffer) => Buffer.from(bytes).fill(0, 4096, bytes.length / 2)],
  ])("that %s is set aside, and workers push again", async (_, damage) => {
    const path = await pushed();
    const damaged = damage(readFileSync(path));
    writeFileSync(path, damaged);
    const { database, clusters, events, log, writer } = await open();
    expect([clusters, events]).toEqual([[], ["error database-damaged"]]);
    const aside = log.mock.calls[0]![3].path as string;
    expect(aside).toMatch(/clusterset\.db\.damaged-\d{4}-/);
    expect(readFileSync(aside).equals(damaged)).toBe(true);
    put(writer, "west", 2);
    close(database);
    const again = await open();
    expect(again.clusters).toEqual(["west"]);
  });
});

describe("a change that the disk does not take", () => {
  it.each([
    ["is full", "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000", "STORE_FULL", "SQLITE_FULL"],
    [
      "cannot be written",
      "PRAGMA query_only = 1",
      "PRAGMA query_only = 0",
      "STORE_FAILED",
      "SQLITE_READONLY",
    ],
  ])("because it %s is not applied, what was there is read, and it works again", async (...disk) => {
    const [, fail, work, code, system] = disk;
    const { database, writer } = await open();
    put(writer, "west", 1);
    database.exec(fail);
    const error = thrown(() => put(writer, "east", 3000));
    expect(storeFailure(error)).toMatchObject({ code, message: expect.stringContaining(system) });
    expect(writer.reader.clusters().map(({ id }) => id)).toEqual(["west"]);
    database.exec(work);
    put(writer, "east", 3000);
    close(database);
    expect((await open()).clusters).toEqual(["east", "west"]);
  });

  it("because its folder was removed is not applied", async () => {
    const { writer } = await open();
    rmSync(folder, { recursive: true });
    expect(thrown(() => put(writer, "east", 1))).toMatchObject({
      code: "STORE_FAILED",
    });
  });
});

function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return expect.unreachable();
}
