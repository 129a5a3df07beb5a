import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { Writer } from "../../src/database/writer.ts";
import { openDatabase } from "../../src/hosts/node/database.ts";
import { TEST_DEADLINE } from "../deadline.ts";
import { folderOfTests } from "../folders.ts";
import { snapshotOf } from "./pushing.ts";

const folder = folderOfTests();

it("kill -9 loses nothing that was acknowledged, and tears nothing", { timeout: TEST_DEADLINE }, async () => {
  const program = join(import.meta.dirname, "pushing-program.ts");
  for (const pause of [0, 3, 7, 12, 18, 27]) {
    const path = join(folder, `killed-${pause}.db`);
    const child = spawn(process.execPath, [program, path], { stdio: ["ignore", "pipe", "inherit"] });
    let acknowledged = -1;
    for await (const line of createInterface(child.stdout)) {
      acknowledged = Number(line);
      if (acknowledged === 10) setTimeout(() => child.kill("SIGKILL"), pause);
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    expect(acknowledged).toBeGreaterThanOrEqual(10);
    const database = openDatabase(path);
    const writer = new Writer(database, () => expect.unreachable());
    const row = writer.reader.cluster("west")!;
    const count = row.meta!.generation;
    expect(count).toBeGreaterThanOrEqual(acknowledged);
    expect(writer.reader.isWhole(row)).toBe(true);
    const expected = execFileSync(process.execPath, [program, ":memory:", String(count)], {
      encoding: "utf8",
    });
    expect(JSON.stringify(snapshotOf(writer.reader, "west"))).toBe(expected.trim().split("\n").at(-1));
    database.close();
  }
});
