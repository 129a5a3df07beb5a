import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { storeFailure } from "../../../src/database/store-error.ts";
import { Writer } from "../../../src/database/writer.ts";
import {
  networkFileSystem,
  openForReading,
  openStateDatabase,
  type StateDatabase,
} from "../../../src/hosts/node/database.ts";
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
    const { clusters, events, writer } = await open();
    expect([clusters, events]).toEqual([["west"], []]);
    put(writer, "east", 1);
    const names = readdirSync(folder).sort();
    expect(names).toEqual(["db", "db-shm", "db-wal", "lock"].map((end) => `clusterset.${end}`));
    expect(new Set(names.map((name) => statSync(join(folder, name)).mode & 0o777))).toEqual(new Set([0o600]));
  });

  it("shows a reader each change as soon as it was applied", async () => {
    const { database, writer } = await open();
    const reader = openForReading(database.path);
    const clusters = reader.prepare("SELECT count(DISTINCT cluster) AS count FROM entry");
    for (const [before, cluster] of ["east", "west"].entries()) {
      expect(clusters.get()?.count).toBe(before);
      put(writer, cluster, 1);
      expect(clusters.get()?.count).toBe(before + 1);
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

it.each([
  ["is none", () => Buffer.from("no database ".repeat(1000))],
  ["is cut", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ["has pages of nothing", (bytes: Buffer) => Buffer.from(bytes).fill(0, 4096, bytes.length / 2)],
])("a damaged database that %s is set aside, and workers push again", async (_, damage) => {
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

describe("a change that the disk does not take", () => {
  it.each([
    ["is full", "max_page_count", 1, 1_000_000, "STORE_FULL", "SQLITE_FULL"],
    ["cannot be written", "query_only", 1, 0, "STORE_FAILED", "SQLITE_READONLY"],
  ])("because it %s is not applied, what was there is read, and it works again", async (...disk) => {
    const [, pragma, fails, works, code, system] = disk;
    const { database, writer } = await open();
    put(writer, "west", 1);
    database.exec(`PRAGMA ${pragma} = ${fails}`);
    const error = thrown(() => put(writer, "east", 3000));
    expect(storeFailure(error)).toMatchObject({ code, message: expect.stringContaining(system) });
    expect(writer.reader.clusters().map(({ id }) => id)).toEqual(["west"]);
    database.exec(`PRAGMA ${pragma} = ${works}`);
    put(writer, "east", 3000);
    close(database);
    expect((await open()).clusters).toEqual(["east", "west"]);
  });

  it("because its folder was removed is not applied", async () => {
    const { writer } = await open();
    rmSync(folder, { recursive: true });
    expect(thrown(() => put(writer, "east", 1))).toMatchObject({ code: "STORE_FAILED" });
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

const MOUNTS = Object.entries({
  "/": "overlay",
  "/srv": "nfs4",
  "/srv/local": "ext4",
  "/mnt/a\\040b": "cifs",
  "/home": "fuse.sshfs",
  "/data": "fuse.fuse-overlayfs",
  "/guest": "virtiofs",
  "/over": "nfs",
});
const list = [...MOUNTS, ["/over", "xfs"]]
  .map(([point, type], id) => `${id} 1 0:${id} / ${point} rw,relatime shared:1 - ${type} source rw`)
  .join("\n");

it.each([
  ["/var/lib/state", undefined],
  ["/srv", "nfs4"],
  ["/srv/state", "nfs4"],
  ["/srvother/state", undefined],
  ["/srv/local/state", undefined],
  ["/mnt/a b/state", "cifs"],
  ["/home/user/state", "fuse.sshfs"],
  ["/data/state", undefined],
  ["/guest/state", undefined],
  ["/over/state", undefined],
])("the file system of the state folder %s is one of another machine: %s", (path, type) => {
  expect(networkFileSystem(path, list)).toBe(type);
  expect(networkFileSystem(path, "")).toBeUndefined();
});
