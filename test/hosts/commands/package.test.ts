import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
/** Packing compiles, which takes its time on a busy machine. Milliseconds. */
const PACK_TIMEOUT = 120_000;

let folder: string;
let bin: string;

// A package as `npm install` would lay it out, with this checkout's dependencies beside it.
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "clusterset-doh-package-"));
  execFileSync("npm", ["pack", "--pack-destination", folder], { cwd: root, stdio: "pipe" });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"))!;
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "clusterset-doh"), { recursive: true });
  execFileSync("tar", [
    "xzf",
    join(folder, tarball),
    "-C",
    join(modules, "clusterset-doh"),
    "--strip-components=1",
  ]);
  for (const name of readdirSync(join(root, "node_modules")))
    if (!name.startsWith(".") && name !== "node")
      symlinkSync(join(root, "node_modules", name), join(modules, name));
  bin = join(modules, "clusterset-doh", "bin", "clusterset-doh.js");
}, PACK_TIMEOUT);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: string[]) =>
  spawnSync(process.execPath, [bin, ...args], { cwd: folder, encoding: "utf8" });

it("the package runs from node_modules, where Node strips no types", () => {
  const version = run(["--version"]);
  expect(version.stderr).toBe("");
  expect(version.stdout.trim()).toMatch(/^\d+\.\d+\.\d+/);
  for (const command of ["serve", "sync", "check", "export", "token", "demo"]) {
    const help = run([command, "--help"]);
    expect(help.status, command).toBe(0);
    expect(help.stdout, command).toMatch(/Examples?:\n/);
  }
  const token = run(["token"]);
  expect(token.stdout.trim()).toMatch(/^[\w-]{43}$/);
});

it("the package holds no tests and no TypeScript", () => {
  const files = readdirSync(join(folder, "node_modules", "clusterset-doh"), {
    recursive: true,
    encoding: "utf8",
  });
  expect(files).toContain(join("dist", "hosts", "cli.js"));
  expect(files.filter((file) => file.endsWith(".ts") || file.startsWith("test"))).toEqual([]);
});
