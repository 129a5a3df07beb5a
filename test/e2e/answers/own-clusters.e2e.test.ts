import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Step, stepsOf } from "../../docs/steps.ts";
import { unexported } from "../commands/exported.ts";
import { type Reader, startReader } from "../kubernetes/install/reader.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { namespace } from "../servers/kubernetes/objects.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { waitFor } from "../servers/wait.ts";

const PAGE = "docs/tutorials/three-clusters.md";
const CLUSTERS = ["east", "west", "north"];

const servers: ApiServer[] = [];
const started: ServerProcess[] = [];
let reader: Reader;
let port: number;

beforeAll(async () => {
  port = await freePort();
  servers.push(...(await Promise.all(CLUSTERS.map((name) => startApiServer({ name })))));
  for (const [index, { admin }] of servers.entries())
    await admin.apply(
      namespace("shop"),
      ...unexported("shop", "web", { endpoints: [`10.${index + 1}.0.7`] }),
    );
  reader = await startReader();
  reader.use(Object.fromEntries(CLUSTERS.map((name, index) => [name, servers[index]!])));
});
afterAll(async () => {
  await Promise.all(started.map((one) => one.stop()));
  await Promise.all(servers.map((server) => server.stop()));
});

test(`${PAGE}: three clusters of a reader's own answer, by its last commands`, async () => {
  const { folder, environment } = reader;
  const placed = (text: string) => text.replaceAll("8443", String(port));
  const start = async (line: string, log: string) =>
    started.push(
      await ServerProcess.start({
        name: `own-${started.length}`,
        command: "env",
        args: [...environment, "bash", "-c", placed(`exec ${line}`)],
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
        const { stdout } = await reader.run(placed(`${ask}\n${step.line}`));
        return CLUSTERS.every((_, index) => stdout.includes(`"10.${index + 1}.0.7"`));
      });
      answered = true;
    } else if (step.line.includes("clusterset-doh sync")) {
      const [, command] = /\n\s*(clusterset-doh sync .*) &\n/.exec(step.line)!;
      for (const cluster of CLUSTERS) await start(command!.replaceAll("$cluster", cluster), "acknowledged");
    } else expect(await reader.run(placed(step.line)), step.line).toMatchObject({ code: 0 });
  }
  expect(answered).toBe(true);
});
