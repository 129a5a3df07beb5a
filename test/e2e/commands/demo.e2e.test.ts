import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../harness/answers.ts";
import { checkout } from "../harness/cli.ts";
import { ServerProcess } from "../servers/process.ts";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { waitFor } from "../servers/wait.ts";

// A user's shell has no node_modules/.bin on its PATH: npm finds the Node of the checkout by itself.
const path = (process.env.PATH ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);

describe("npm start", () => {
  const folder = temporaryFolder("demo");
  const demo: ServerProcess = new ServerProcess({
    name: "demo",
    // A process group of its own, like that of a terminal.
    command: "setsid",
    args: ["npm", "start", "--", "--listen", "localhost:0", "--state-dir", join(folder, "state")],
    folder,
    cwd: checkout,
    env: { PATH: path },
    ready: async () => demo.log().includes("Stop with Ctrl-C"),
  });
  let lines: string[];

  beforeAll(async () => {
    await demo.start();
    const printed = demo.log().split("\n");
    lines = printed.filter((line) => line.startsWith("  ")).map((line) => line.trim());
  });

  const pressCtrlC = async () => {
    if (demo.pid === undefined) return;
    process.kill(-demo.pid, "SIGINT");
    await demo.ended();
  };
  afterAll(pressCtrlC);

  const shell = (line: string) =>
    run("bash", ["-o", "pipefail", "-c", line], { cwd: checkout, env: { PATH: path } });
  /** What a command prints once the gateway, on a busy machine, does not count as overloaded. */
  const printed = (line: string) => waitFor(line, () => shell(line));
  const pick = (...parts: string[]) => {
    const found = lines.filter((line) => parts.every((part) => line.includes(part)));
    expect(found, `a line with ${parts.join(" and ")}`).not.toHaveLength(0);
    return found;
  };
  const browserUrl = () => pick("https://").find((line) => line.startsWith("https://")) ?? "";
  /** The addresses in the first JSON answer; the other lines are held against them. */
  const addresses = async () => {
    const [first] = pick("curl", "/resolve?", "type=A");
    const { Answer } = JSON.parse(await printed(first!)) as { Answer: { data: string }[] };
    expect(Answer).not.toHaveLength(0);
    return Answer.map(({ data }) => data);
  };

  test("logs nothing between the lines to paste", () => {
    expect(demo.log()).not.toContain('"level":"info"');
  });

  test("prints only commands that this test runs", () => {
    for (const line of lines)
      expect(line).toMatch(/^(?:curl |echo \S+ \| base64 -d \| curl |dig |https:\/\/)/);
  });

  test("curl, JSON", async () => {
    for (const line of pick("curl", "/resolve?"))
      expect(JSON.parse(await printed(line))).toMatchObject({ Status: 0, Answer: expect.any(Array) });
  });

  test("curl, DNS messages by GET and by POST, with the addresses in them", async () => {
    const asked = pick("curl", "/dns-query");
    expect(asked).toHaveLength(2);
    for (const line of asked) {
      // The printed form is od's; what goes into it is the message itself.
      expect(await shell(line)).not.toBe("");
      const message = await shell(line.replace(/\| od .*$/, "| od -An -v -tx1"));
      const bytes = message.trim().split(/\s+/).join(" ");
      for (const address of await addresses()) {
        const hex = address.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
        expect(bytes).toContain(hex.join(" "));
      }
    }
  });

  test("dig", async () => {
    for (const line of pick("dig ", "+https")) {
      const text = await shell(line);
      expect(text).toContain("status: NOERROR");
      for (const address of await addresses()) expect(text).toMatch(new RegExp(`\\sA\\s+${address}$`, "m"));
    }
  });

  test("serves the gateway's page, and Ctrl-C ends everything", async () => {
    const { origin } = new URL(browserUrl());
    expect(await printed(`curl --insecure --silent --fail '${origin}/'`)).toContain("clusterset.local");
    await pressCtrlC();
    await eventually(() => shell(`curl --insecure --silent '${origin}/healthz'`).catch(String)).toContain(
      "exit 7",
    );
    expect(demo.log()).not.toMatch(/"level":"error"|\n {4}at /);
  });
});
