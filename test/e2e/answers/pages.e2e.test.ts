import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { stepsOf } from "../../docs/steps.ts";
import { checkout, cliPath, type Finished, runProgram } from "../harness/cli.ts";
import { MovedClock } from "../harness/moved-clock.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { waitFor } from "../servers/wait.ts";

/** The ports in the pages; each is replaced by a free one. */
const PORTS = ["8443", "9443", "9444"];

interface Page {
  readonly page: string;
  /** The folder that the page's reader makes and enters. */
  readonly enters?: string;
  /** The heading from which on other tests run the commands. */
  readonly until?: string;
  /** The page from which the page's reader comes. */
  readonly after?: Page;
}

const pages: readonly Page[] = [
  {
    page: "docs/tutorials/three-clusters.md",
    enters: "three-clusters",
    until: "## 9. Take your own clusters",
  },
  { page: "docs/how-to/back-up.md" },
  { page: "docs/how-to/certificates.md" },
  { page: "docs/how-to/federation.md" },
  { page: "docs/how-to/location.md", until: "## On a Worker" },
  { page: "docs/how-to/rotate.md" },
  {
    page: "docs/how-to/upgrade.md",
    after: { page: "docs/how-to/back-up.md", until: "## Restore" },
  },
  { page: "docs/reference/names-and-records.md" },
  { page: "docs/reference/command-line.md" },
];

describe.each(pages)("$page", async ({ page, enters = ".", until, after }) => {
  const parent = temporaryFolder("page");
  const folder = join(parent, enters);
  const ports = new Map<string, string>();
  for (const port of PORTS) ports.set(port, String(await freePort()));
  const started: ServerProcess[] = [];
  /** As in a shell, the number of a job that ended is free again if no later one runs. */
  const jobs: ServerProcess[] = [];
  let functions = "";
  /** Of all commands: it passes what they wait for, such as leases. */
  const clock = new MovedClock({ timers: true });
  const environment = Object.entries(clock.env).map(([name, value]) => `export ${name}='${value}'; `);

  // The folder is like the checkout, with the command on the PATH.
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(checkout, "examples"), join(parent, "examples"));
  const program = join(parent, "clusterset-doh");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${cliPath}' "$@"\n`, { mode: 0o755 });
  const placed = (text: string) =>
    text
      .replaceAll("npx clusterset-doh", "clusterset-doh")
      .replaceAll(/\b(?:8443|9443|9444)\b/g, (port) => ports.get(port)!);
  const scripted = (line: string) => {
    // Without --listen a gateway uses the default port, which may be in use.
    const command = placed(line).replace(
      /(serve) (?!--config)/,
      `$1 --listen localhost:${ports.get("8443")} `,
    );
    return `cd '${folder}'; export PATH='${parent}':"$PATH"; ${environment.join("")}${functions}\n${command}`;
  };
  const runLine = (line: string): Promise<Finished> => runProgram("bash", ["-c", scripted(line)]);

  afterAll(() => Promise.all(started.map((job) => job.stop())));

  /** Starts a command, which is the next job of the shell. */
  async function start(line: string): Promise<void> {
    const job: ServerProcess = new ServerProcess({
      name: `job-${started.length + 1}`,
      command: "bash",
      args: ["-c", scripted(`exec ${line}`)],
      folder: parent,
      ready: async () => job.log().includes(line.includes(" serve ") ? "listening" : "acknowledged"),
    });
    started.push(job);
    jobs.push(job);
    await job.start();
  }

  async function stop(number: number): Promise<void> {
    await jobs[number - 1]!.stop();
    while (jobs.at(-1)?.isRunning === false) jobs.pop();
  }

  /** Runs a command until its output has these parts. */
  async function check(line: string, expected: readonly string[]): Promise<void> {
    await waitFor(expected.join(" "), async () => {
      const { stdout, stderr } = await runLine(line);
      const printed = stdout + stderr;
      if (expected.every((part) => printed.includes(placed(part)))) return true;
      clock.pass(1000);
      throw new Error(`printed: ${printed}`);
    });
  }

  for (const step of [...(after ? stepsOf(after.page, after.until) : []), ...stepsOf(page, until)]) {
    if (step.kind === "file")
      test(`the file ${step.path}`, () => {
        expect(existsSync(join(folder, step.path))).toBe(false);
        writeFileSync(join(folder, step.path), placed(step.text));
      });
    else if (step.kind === "start") test(`${step.line} &`, () => start(step.line));
    else if (/^\w+\(\)/.test(step.line)) functions += `${placed(step.line)}\n`;
    else if (/^kill %(\d)(?: && wait %\1)?$/.test(step.line))
      test(step.line, () => stop(Number(step.line.slice(-1))));
    else if (!step.line.startsWith(`mkdir ${enters}`))
      test(`${step.line} # ${step.expected.join(" ")}`, async () => {
        if (step.expected.length > 0) await check(step.line, step.expected);
        else expect(await runLine(step.line)).toMatchObject({ code: 0 });
      });
  }
});
