import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { stepsOf } from "../docs/tutorial.ts";
import { checkout, cliPath, type Finished, runProgram } from "./cli.ts";
import { temporaryFolder } from "./servers/folders.ts";
import { freePort } from "./servers/ports.ts";
import { ServerProcess } from "./servers/process.ts";
import { waitFor } from "./servers/wait.ts";

const NAME = "three-clusters";

describe("docs/tutorials/three-clusters.md", async () => {
  const parent = temporaryFolder("tutorial");
  const folder = join(parent, NAME);
  const port = await freePort();
  const jobs: ServerProcess[] = [];
  let functions = "";

  // As in the checkout, with the command on the PATH and a port that nobody has.
  mkdirSync(folder);
  symlinkSync(join(checkout, "examples"), join(parent, "examples"));
  const program = join(parent, "clusterset-doh");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${cliPath}' "$@"\n`, { mode: 0o755 });
  const placed = (text: string) => text.replaceAll("8443", String(port));
  const scripted = (line: string) =>
    `cd '${folder}'; export PATH='${parent}':"$PATH"; ${functions}\n${placed(line)}`;
  const runLine = (line: string): Promise<Finished> => runProgram("bash", ["-c", scripted(line)]);

  afterAll(() => Promise.all(jobs.map((job) => job.stop())));

  /** Starts a command, which is the next job of the shell. */
  async function start(line: string): Promise<void> {
    const job: ServerProcess = new ServerProcess({
      name: `job-${jobs.length + 1}`,
      command: "bash",
      args: ["-c", scripted(`exec ${line}`)],
      folder: parent,
      ready: async () => job.log().includes(line.includes(" serve ") ? "listening" : "acknowledged"),
    });
    jobs.push(job);
    await job.start();
  }

  for (const step of stepsOf(`docs/tutorials/${NAME}.md`)) {
    if (step.kind === "file")
      test(`the file ${step.path}`, () => writeFileSync(join(folder, step.path), placed(step.text)));
    else if (step.kind === "start") test(`${step.line} &`, () => start(step.line));
    else if (/^\w+\(\)/.test(step.line)) functions += `${placed(step.line)}\n`;
    else if (/^kill %\d$/.test(step.line))
      test(step.line, async () => jobs[Number(step.line.slice(-1)) - 1]!.stop());
    else if (!step.line.startsWith(`mkdir ${NAME}`))
      test(`${step.line} # ${step.expected.join(" ")}`, async () => {
        if (step.expected.length === 0) expect((await runLine(step.line)).stderr).not.toContain("No such");
        else
          await waitFor(step.expected.join(" "), async () => {
            const { stdout, stderr } = await runLine(step.line);
            for (const part of step.expected) expect(stdout + stderr).toContain(placed(part));
            return true;
          });
      });
  }
});
