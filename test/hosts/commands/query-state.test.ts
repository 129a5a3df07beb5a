import { readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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
let file: string;
let database: OpenDatabase;
let writer: Writer;
beforeEach(() => {
  folder = folderOfTest();
  file = join(folder, "clusterset.db");
  database = openDatabase(file);
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

/** Pushes a cluster whose service has an address. */
function serve(cluster: string, ip: string): void {
  const imports = { "shop/web": imported({ ips: [ip] }) };
  push(
    writer,
    cluster,
    "whole",
    wholeLines(snapshot(cluster, { exports: { "shop/web": exported() }, imports })),
  );
}

describe("query in a state folder", () => {
  it("reads what a gateway that runs has stored, and goes on reading after it ended", async () => {
    serve("east", "10.0.0.1");
    expect((await query(WEB)).stdout).toContain(`${WEB}.\t5\tIN\tA\t10.0.0.1`);
    serve("east", "10.0.0.2");
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
    const later = { now: NOON + 2 * 86_400_000, live: true };
    push(writer, "east", "whole", wholeLines(exporting("east", older)), later);
    const { stdout } = await run("explain", WEB);
    expect(stdout).toContain("; type: ClusterSetIP, decided by west: it has the oldest ServiceExport");
    expect(stdout).toContain("exported by east since 2020-06-01T00:00:00Z, counts from ");
  });

  it("counts no cluster that left or whose lease expired", async () => {
    for (const [index, cluster] of ["east", "west", "north"].entries()) serve(cluster, `10.0.0.${index + 1}`);
    writer.apply({ kind: "expiry", cluster: "west" });
    writer.apply({ kind: "departure", cluster: "north" });
    const { stdout } = await query(WEB);
    expect(stdout).toContain("10.0.0.1");
    expect(stdout).not.toMatch(/10\.0\.0\.[23]/);
    expect((await query("--view", "west", WEB)).stderr).toContain("not one of the clusters: east");
  });

  it("names a damaged row, and answers with the others", async () => {
    serve("east", "10.0.0.1");
    serve("west", "10.0.0.2");
    database.exec("UPDATE entry SET sum = sum + 1 WHERE cluster = 'west' AND kind = 3");
    const { stdout, stderr } = await query(WEB);
    expect(stderr).toContain("problem: a row of cluster west is damaged: shop/web");
    expect(stdout).toContain("10.0.0.1");
  });

  const loop = () => {
    rmSync(folder, { recursive: true });
    symlinkSync(folder, folder);
  };
  it.each([
    ["a folder without a database", () => rmSync(file), "it has no file clusterset.db"],
    ["a file that is none", () => writeFileSync(file, "none ".repeat(200)), "read: file is not a database"],
    ["a folder that cannot be entered", loop, "cannot be read: ELOOP"],
  ])("%s is a usage error", async (_, damage, message) => {
    database.close();
    damage();
    expect(await query(WEB)).toMatchObject({ status: 2, stderr: expect.stringContaining(message) });
  });

  it("another version is a usage error", async () => {
    database.exec("UPDATE meta SET value = '0' WHERE name = 'version'");
    const stderr = expect.stringContaining("another version of clusterset-doh wrote it");
    expect(await query(WEB)).toMatchObject({ status: 2, stderr });
  });
});
