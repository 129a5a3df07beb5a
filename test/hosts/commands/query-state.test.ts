import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Writer } from "../../../src/database/writer.ts";
import { type OpenDatabase, openDatabase } from "../../../src/hosts/node/database.ts";
import { NOON, push, wholeLines } from "../../database/pushing.ts";
import { folderOfTest } from "../../folders.ts";
import { exported, exporting, imported, snapshot } from "../../merge/fixtures.ts";
import { runCommand } from "./run-command.ts";

const WEB = "web.shop.svc.clusterset.local";

let folder: string;
let database: OpenDatabase;
let writer: Writer;
beforeEach(() => {
  folder = folderOfTest();
  database = openDatabase(join(folder, "clusterset.db"));
  writer = new Writer(database, () => {});
});
afterEach(() => {
  try {
    database.close();
  } catch {
    // A test closed it.
  }
});

const run = (command: "query" | "explain", ...args: string[]) =>
  runCommand(command, "--state-dir", folder, ...args);
const query = (...args: string[]) => run("query", ...args);

const serving = (clusterId: string, ip: string) =>
  snapshot(clusterId, {
    exports: { "shop/web": exported() },
    imports: { "shop/web": imported({ ips: [ip] }) },
  });

describe("query in a state folder", () => {
  it("reads what a gateway that runs has stored, and goes on reading after it ended", async () => {
    push(writer, "east", "whole", wholeLines(serving("east", "10.0.0.1")));
    expect((await query(WEB)).stdout).toContain(`${WEB}.\t5\tIN\tA\t10.0.0.1`);
    push(writer, "east", "whole", wholeLines(serving("east", "10.0.0.2")));
    expect((await query(WEB)).stdout).toContain("10.0.0.2");
    database.close();
    const before = readdirSync(folder);
    const { status, stdout } = await query("10.0.0.2");
    expect(status).toBe(0);
    expect(stdout).toContain(`\tIN\tPTR\t${WEB}.`);
    expect(readdirSync(folder)).toEqual(before);
  });

  it("decides by who came first, as the gateway remembers it", async () => {
    const older = { exportedAt: "2020-06-01T00:00:00Z", headless: true };
    push(writer, "west", "whole", wholeLines(exporting("west")));
    push(writer, "east", "whole", wholeLines(exporting("east", older)), {
      now: NOON + 2 * 86_400_000,
      live: true,
    });
    const { stdout } = await run("explain", WEB);
    expect(stdout).toContain("; type: ClusterSetIP, decided by west: it has the oldest ServiceExport");
    expect(stdout).toContain("exported by east since 2020-06-01T00:00:00Z, counts from ");
  });

  it("counts no cluster that left or whose lease expired", async () => {
    for (const [id, ip] of [
      ["east", "10.0.0.1"],
      ["west", "10.0.0.2"],
      ["north", "10.0.0.3"],
    ] as const)
      push(writer, id, "whole", wholeLines(serving(id, ip)));
    writer.apply({ kind: "expiry", cluster: "west" });
    writer.apply({ kind: "departure", cluster: "north" });
    const { stdout } = await query(WEB);
    expect(stdout).toContain("10.0.0.1");
    expect(stdout).not.toMatch(/10\.0\.0\.[23]/);
    expect((await query("--view", "west", WEB)).stderr).toContain("not one of the clusters: east");
  });

  it("names a damaged row, and answers with the others", async () => {
    push(writer, "east", "whole", wholeLines(serving("east", "10.0.0.1")));
    push(writer, "west", "whole", wholeLines(serving("west", "10.0.0.2")));
    database.exec("UPDATE entry SET sum = sum + 1 WHERE cluster = 'west' AND kind = 3");
    const { stdout, stderr } = await query(WEB);
    expect(stderr).toContain("problem: a row of cluster west is damaged: shop/web");
    expect(stdout).toContain("10.0.0.1");
  });

  it.each([
    [
      "a folder without a database",
      () => rmSync(join(folder, "clusterset.db")),
      "it has no file clusterset.db",
    ],
    [
      "a file that is no database",
      () => writeFileSync(join(folder, "clusterset.db"), "no database ".repeat(100)),
      "cannot be read: file is not a database",
    ],
    [
      "a folder in its place",
      () => {
        rmSync(join(folder, "clusterset.db"));
        mkdirSync(join(folder, "clusterset.db"));
      },
      "cannot be read",
    ],
    [
      "a folder that cannot be entered",
      () => {
        rmSync(folder, { recursive: true });
        symlinkSync(folder, folder);
      },
      "cannot be read: ELOOP",
    ],
    [
      "another version",
      () => {
        database = openDatabase(join(folder, "clusterset.db"));
        database.exec("UPDATE meta SET value = '0' WHERE name = 'version'");
        database.close();
      },
      "another version of clusterset-doh wrote it",
    ],
  ])("%s is a usage error", async (_, damage, message) => {
    database.close();
    damage();
    const { status, stderr } = await query(WEB);
    expect(stderr).toContain(message);
    expect(status).toBe(2);
  });
});
