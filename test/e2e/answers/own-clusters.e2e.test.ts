import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { type Step, stepsOf } from "../../docs/steps.ts";
import { unexported } from "../commands/exported.ts";
import { cliPath, runProgram } from "../harness/cli.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { namespace } from "../servers/kubernetes/objects.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { goProgram } from "../servers/tools/go-tools.ts";
import { waitFor } from "../servers/wait.ts";

const PAGE = "docs/tutorials/three-clusters.md";
const CLUSTERS = ["east", "west", "north"];

const folder = temporaryFolder("own-clusters");
const servers: ApiServer[] = [];
const started: ServerProcess[] = [];
let port: number;

/** What all contexts of a reader's kubectl are: one file. */
function mergedKubeconfig(): string {
  const parts = ["clusters", "users", "contexts"] as const;
  const merged = Object.fromEntries(parts.map((part) => [part, [] as object[]]));
  for (const [index, name] of CLUSTERS.entries()) {
    const one = parse(readFileSync(servers[index]!.kubeconfig(), "utf8"));
    for (const part of parts) merged[part]!.push({ ...one[part][0], name });
    merged.contexts!.splice(-1, 1, { name, context: { cluster: name, user: name } });
  }
  const path = join(folder, "kubeconfig");
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "Config", ...merged }), { mode: 0o600 });
  return path;
}

beforeAll(async () => {
  port = await freePort();
  servers.push(...(await Promise.all(CLUSTERS.map((name) => startApiServer({ name })))));
  for (const [index, { admin }] of servers.entries())
    await admin.apply(
      namespace("shop"),
      ...unexported("shop", "web", { endpoints: [`10.${index + 1}.0.7`] }),
    );
  mkdirSync(join(folder, "bin"));
  const programs = { "clusterset-doh": `${process.execPath}' '${cliPath}`, kubectl: goProgram("kubectl") };
  for (const [name, program] of Object.entries(programs))
    writeFileSync(join(folder, "bin", name), `#!/bin/sh\nexec '${program}' "$@"\n`, { mode: 0o755 });
});
afterAll(async () => {
  await Promise.all(started.map((one) => one.stop()));
  await Promise.all(servers.map((server) => server.stop()));
});

test(`${PAGE}: three clusters of a reader's own answer, by its last commands`, async () => {
  const environment = `PATH='${folder}/bin':"$PATH" KUBECONFIG='${mergedKubeconfig()}'`;
  const placed = (text: string) => text.replaceAll("8443", String(port));
  const script = (line: string) => `cd '${folder}'; export ${environment}; ${placed(line)}`;
  const start = async (line: string, log: string) =>
    started.push(
      await ServerProcess.start({
        name: `own-${started.length}`,
        command: "bash",
        args: ["-c", script(`exec ${line}`)],
        folder,
        ready: async () => readFileSync(join(folder, `own-${started.length}.log`), "utf8").includes(log),
      }),
    );
  const earlier = stepsOf(PAGE, "## 9. Take your own clusters");
  const own = stepsOf(PAGE).slice(earlier.length);
  const isNeeded = (step: Step) =>
    step.kind === "file" ? step.path === "gateway.yaml" : step.line.includes("clusterset-doh token");
  mkdirSync(join(folder, "state"));
  let answered = false;
  for (const step of [...earlier.filter(isNeeded), ...own]) {
    if (step.kind === "file") writeFileSync(join(folder, step.path), placed(step.text));
    else if (step.kind === "start") await start(step.line, "listening");
    else if (step.line.startsWith("ask ")) {
      const [ask] = earlier.flatMap((one) =>
        one.kind === "run" && one.line.startsWith("ask()") ? [one.line] : [],
      );
      await waitFor("the answers of three clusters", async () => {
        const { stdout } = await runProgram("bash", ["-c", script(`${ask}\n${step.line}`)]);
        return CLUSTERS.every((_, index) => stdout.includes(`"10.${index + 1}.0.7"`));
      });
      answered = true;
    } else if (step.line.includes("clusterset-doh sync")) {
      const [, command] = /\n\s*(clusterset-doh sync .*) &\n/.exec(step.line)!;
      for (const cluster of CLUSTERS) await start(command!.replaceAll("$cluster", cluster), "acknowledged");
    } else expect(await runProgram("bash", ["-c", script(step.line)]), step.line).toMatchObject({ code: 0 });
  }
  expect(answered).toBe(true);
});
