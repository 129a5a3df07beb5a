import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { metaOf, snapshotOf, wholeOf } from "../changes.ts";
import { openCollecting, stateDirectory } from "./state-directory.ts";

const IN_USE = { code: "STATE_DIRECTORY_IN_USE" };

describe("the lock of a state directory", () => {
  test("refuses a second store of the same process, until the first is closed", async () => {
    const directory = stateDirectory();
    const { store } = await openCollecting(directory);
    await expect(openCollecting(directory)).rejects.toMatchObject(IN_USE);
    await store.close();
    expect(existsSync(join(directory, "lock"))).toBe(false);
    await (await openCollecting(directory)).store.close();
  });

  test("refuses while another process lives, names it, and takes over after kill -9", async () => {
    const directory = stateDirectory();
    const holder = spawn(
      process.execPath,
      [join(import.meta.dirname, "pushing-process.ts"), directory, "hold"],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    await once(holder.stdout, "data");
    const refused = openCollecting(directory);
    await expect(refused).rejects.toMatchObject(IN_USE);
    await expect(refused).rejects.toThrow(`process ${holder.pid}`);
    holder.kill("SIGKILL");
    await once(holder, "exit");
    expect(existsSync(join(directory, "lock"))).toBe(true);
    await (await openCollecting(directory)).store.close();
  });

  test.each([
    [
      "of a process id that another process has by now",
      () => JSON.stringify({ pid: process.ppid, startedAt: "1" }),
    ],
    ["of this process id from an earlier run", () => JSON.stringify({ pid: process.pid, startedAt: "1" })],
    ["of no process", () => JSON.stringify({ pid: 2 ** 30 })],
    ["that was torn", () => '{"pid":'],
    ["that is empty", () => ""],
  ])("takes over a lock %s", async (_, text) => {
    const directory = stateDirectory();
    writeFileSync(join(directory, "lock"), text());
    const { store } = await openCollecting(directory);
    expect(JSON.parse(readFileSync(join(directory, "lock"), "utf8")).pid).toBe(process.pid);
    await store.close();
  });

  test("a store whose lock was taken over from outside writes no more, and leaves the new lock alone", async () => {
    const directory = stateDirectory();
    const { store } = await openCollecting(directory);
    const taken = JSON.stringify({ pid: 1, token: "another" });
    writeFileSync(join(directory, "lock"), taken);
    const change = wholeOf(snapshotOf("west", 1), metaOf(1));
    await expect(store.keep("west", change)).rejects.toMatchObject({ code: "STATE_DIRECTORY_LOST" });
    await store.close();
    expect(readFileSync(join(directory, "lock"), "utf8")).toBe(taken);
  });
});
