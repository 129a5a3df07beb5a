import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkout } from "./cli.ts";
import { temporaryFolder } from "./servers/folders.ts";

const shell = promisify(execFile);

/** `npm start` on a free port, and what it printed. */
interface Demo {
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

async function startDemo(): Promise<Demo> {
  const args = ["start", "--silent", "--", "--listen", "localhost:0", "--state-dir", temporaryFolder("demo")];
  // A process group of its own: npm, its shell and the demo end together.
  const npm = spawn("npm", args, { cwd: checkout, detached: true, stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise<void>((resolve) => npm.once("exit", () => resolve()));
  let text = "";
  npm.stdout.setEncoding("utf8");
  for await (const part of npm.stdout) {
    text += part;
    if (text.includes("Stop with Ctrl-C.")) break;
  }
  return {
    lines: text.split("\n"),
    stop: async () => {
      process.kill(-npm.pid!, "SIGTERM");
      await exited;
    },
  };
}

describe("npm start", () => {
  let demo: Demo;
  beforeAll(async () => {
    demo = await startDemo();
  });
  afterAll(() => demo.stop());

  const commands = (program: string) =>
    demo.lines.filter((line) => line.startsWith("  ") && line.includes(program)).map((line) => line.trim());

  it("prints lines for curl, dig and a browser", () => {
    expect(commands("curl").length).toBeGreaterThanOrEqual(4);
    expect(commands("dig +https")).toHaveLength(1);
    expect(commands("https://").filter((line) => line.startsWith("https://"))).toHaveLength(1);
  });

  it("prints lines for curl that work", async () => {
    for (const line of commands("curl")) {
      const { stdout, stderr } = await shell("sh", ["-c", line], { cwd: checkout });
      expect(stderr, line).toBe("");
      if (line.includes("/resolve"))
        expect(JSON.parse(stdout), line).toMatchObject({
          Status: 0,
          Answer: expect.arrayContaining([expect.objectContaining({ TTL: 5 })]),
        });
      // The fourth octet of a DNS message: RA, Z, AD, CD and the response code.
      else expect(stdout.trim().split(/\s+/)[3], line).toBe("\\0");
    }
  });

  it("prints a line for dig that works", async () => {
    const { stdout } = await shell("sh", ["-c", commands("dig +https")[0]!]);
    expect(stdout).toContain("status: NOERROR");
    expect(stdout).toMatch(/ANSWER: [1-9]/);
  });

  it("prints an address for a browser that works", async () => {
    const url = commands("https://").find((line) => line.startsWith("https://"))!;
    const { stdout } = await shell("curl", ["-sS", "-k", "-H", "accept: text/html,*/*;q=0.8", "-D-", url]);
    expect(stdout).toMatch(/^content-type: application\/json/im);
    expect(stdout).toContain('"Answer"');
  });
});
