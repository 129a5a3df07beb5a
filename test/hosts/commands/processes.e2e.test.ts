import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { folderOfTest } from "../../folders.ts";

const bin = fileURLToPath(new URL("../../../bin/clusterset-doh.js", import.meta.url));

const examples = fileURLToPath(new URL("../../../examples", import.meta.url));

let folder: string;
beforeEach(() => {
  folder = folderOfTest();
});

/** Runs a command as a process until it ends. */
const spawnProgram = (args: string[], nodeArgs: string[] = []) =>
  spawnSync(process.execPath, [...nodeArgs, bin, ...args], { cwd: folder, encoding: "utf8" });

it("prints no stack when stdout is closed early", () => {
  const directory = join(folder, "cluster-a");
  mkdirSync(directory);
  writeFileSync(join(directory, "a.yaml"), "{apiVersion: v1, kind: Namespace, metadata: {name: a}}");
  const piped = spawnSync("sh", ["-c", `"${process.execPath}" "${bin}" check "${directory}" | head -c 1`], {
    encoding: "utf8",
  });
  expect(piped.stderr).not.toContain("    at ");
});

it("says that a full disk takes no output, without a stack", () => {
  const full = spawnSync("sh", ["-c", `"${process.execPath}" "${bin}" token > /dev/full`], {
    encoding: "utf8",
  });
  expect(full.stderr).toMatch(/^clusterset-doh: the output cannot be written: ENOSPC/m);
  expect(full.stderr).not.toContain("    at ");
  expect(full.status).toBe(1);
});

it.each([
  ["colours findings at a terminal", "", {}, true],
  ["does not colour them with NO_COLOR", "", { NO_COLOR: "1" }, false],
  ["does not colour them in a pipe", " 2>&1 | cat", {}, false],
])("%s", (_, rest, environment, isColoured) => {
  const command = `"${process.execPath}" "${bin}" check "${examples}/cluster-b"${rest}`;
  const { stdout } = spawnSync("script", ["-qec", command, "/dev/null"], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, TERM: "xterm", ...environment },
  });
  expect(stdout).toContain(`${isColoured ? "\u001b[33mfinding:\u001b[39m" : "finding:"} `);
});

describe("an old Node", () => {
  const pretend = (version: string) => [
    "--import",
    `data:text/javascript,if(!process.env.AGAIN)Object.defineProperty(process.versions,"node",{value:"${version}"});process.env.AGAIN="1"`,
  ];

  it.each(["20.20.2", "22.18.0"])("%s starts the checkout's own Node", (version) => {
    const { status, stdout } = spawnProgram(["--version"], pretend(version));
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(status).toBe(0);
    expect(spawnProgram(["bogus"], pretend(version)).status).toBe(2);
  });

  it("gets a message with the required version if there is no other", () => {
    const alone = join(folder, "bin");
    mkdirSync(alone);
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    writeFileSync(join(alone, "clusterset-doh.js"), readFileSync(bin));
    const args = [...pretend("20.20.2"), join(alone, "clusterset-doh.js")];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(stderr).toContain("needs Node.js 22.19 or newer; this is 20.20.2");
    expect(status).toBe(2);
  });
});
