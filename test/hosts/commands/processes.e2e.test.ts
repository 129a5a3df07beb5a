import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folderOfTest } from "../../folders.ts";

const bin = fileURLToPath(new URL("../../../bin/clusterset-doh.js", import.meta.url));
const examples = fileURLToPath(new URL("../../../examples", import.meta.url));
const PROGRAM = `"${process.execPath}" "${bin}"`;
const sh = (command: string) => spawnSync("sh", ["-c", command], { encoding: "utf8" });

it("prints no stack when stdout is closed early, and says that a full disk takes no output", () => {
  expect(sh(`${PROGRAM} check "${examples}/cluster-a" | head -c 1`).stderr).not.toContain("    at ");
  const full = sh(`${PROGRAM} token > /dev/full`);
  expect(full.stderr).toMatch(/^clusterset-doh: the output cannot be written: ENOSPC/m);
  expect([full.status, full.stderr]).toEqual([1, expect.not.stringContaining("    at ")]);
});

it.each([
  ["colours findings at a terminal", "", {}, true],
  ["does not colour them with NO_COLOR", "", { NO_COLOR: "1" }, false],
  ["does not colour them in a pipe", " 2>&1 | cat", {}, false],
])("%s", (_, rest, environment, isColoured) => {
  const command = `${PROGRAM} check "${examples}/cluster-b"${rest}`;
  const env = { PATH: process.env.PATH, TERM: "xterm", ...environment };
  const { stdout } = spawnSync("script", ["-qec", command, "/dev/null"], { encoding: "utf8", env });
  expect(stdout).toContain(`${isColoured ? "\u001b[33mfinding:\u001b[39m" : "finding:"} `);
});

describe("an old Node", () => {
  /** Runs a program with a Node that says it is of another version. */
  const runAs = (version: string, program: string, ...args: string[]) => {
    const pretence = `data:text/javascript,if(!process.env.AGAIN)Object.defineProperty(process.versions,"node",{value:"${version}"});process.env.AGAIN="1"`;
    return spawnSync(process.execPath, ["--import", pretence, program, ...args], { encoding: "utf8" });
  };

  it.each(["20.20.2", "22.18.0"])("%s starts the checkout's own Node", (version) => {
    const { status, stdout } = runAs(version, bin, "--version");
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
    expect(runAs(version, bin, "bogus").status).toBe(2);
  });

  it("gets a message with the required version if there is no other", () => {
    const folder = folderOfTest();
    const alone = join(folder, "bin/clusterset-doh.js");
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    cpSync(bin, alone);
    const { status, stderr } = runAs("20.20.2", alone);
    const said = expect.stringContaining("needs Node.js 22.19 or newer; this is 20.20.2");
    expect([status, stderr]).toEqual([2, said]);
  });
});

const module = new URL("../../../src/hosts/commands/process.ts", import.meta.url).href;
const program = `
  const { stopSignal } = await import(${JSON.stringify(module)});
  const stop = stopSignal({ fatal: (_, message) => console.log(message) });
  const busy = setInterval(() => {}, 1000);
  stop.addEventListener("abort", () => { console.log("stopped"); clearInterval(busy); });
  console.log("started");
`;

it("a command stops when the shell of an npm script ends without forwarding SIGTERM", async () => {
  const shell = spawn("sh", ["-c", '"$0" --input-type=module -e "$1"; true', process.execPath, program], {
    env: { ...process.env, npm_lifecycle_event: "start" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  shell.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  while (!printed.includes("started")) await once(shell.stdout, "data");
  shell.kill("SIGTERM");
  await once(shell.stdout, "end");
  expect(printed).toContain("stopped");
});
